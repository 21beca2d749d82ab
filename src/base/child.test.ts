import { once } from "node:events";
import { expect, test } from "vitest";
import { spawnChild } from "./child.ts";

test("a program that ends without reading its input, and breaks its pipes, ends nobody else", async () => {
  const child = spawnChild("sh", ["-c", "exec <&- >&- 2>&-; exit 3"], { stdio: "pipe" });
  child.stdin.write(Buffer.alloc(1024 * 1024));
  const [code] = await once(child, "close");
  expect(code).toBe(3);
});

test("nor does a program that is not there, a stream that fails before anybody reads it, or a signal that may not be sent", async () => {
  expect(await once(spawnChild("/not/there", []), "spawn").catch(({ code }) => code)).toBe("ENOENT");
  const child = spawnChild("true", [], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy(new Error("it broke"));
  child.emit("error", new Error("not permitted"));
  await once(child, "close");
});
