import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { bounded } from "./bounded.ts";

test("counts what passes, and lets no more pass than the limit", async () => {
  const { stream, count } = bounded(Readable.from([Buffer.from("12"), Buffer.from("345")]), { maxBytes: 5 });
  expect(String(await buffer(stream))).toBe("12345");
  expect(count()).toBe(5);
  await expect(buffer(bounded(Readable.from([Buffer.alloc(6)]), { maxBytes: 5 }).stream)).rejects.toMatchObject({ code: "too-large" });
});

test("content that fails before anybody reads it ends nothing but the copy", async () => {
  const content = new PassThrough();
  const { stream } = bounded(content, {});
  content.destroy(new Error("given up"));
  // Without anybody who listens for it, the failure would end the program here.
  await new Promise((resolve) => stream.on("close", resolve));
  await expect(buffer(stream)).rejects.toThrow("given up");
  expect(content.closed || (await once(content, "close"))).toBeTruthy();
});
