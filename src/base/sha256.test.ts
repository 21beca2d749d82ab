import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { equalBytes, hmacSha256, sha256 } from "./sha256.ts";

const bytes = fc.uint8Array({ maxLength: 300 });

test("digests are those of node:crypto, whatever the length", () => {
  for (let length = 0; length < 200; length++) {
    const message = Buffer.alloc(length, "é");
    expect(sha256(message).toString("hex")).toBe(createHash("sha256").update(message).digest("hex"));
  }
  fc.assert(fc.property(bytes, (message) => sha256(message).equals(createHash("sha256").update(message).digest())));
});

test("so are message authentication codes, and parts are joined", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), bytes, fc.string({ unit: "binary" }), (key, message, text) =>
      hmacSha256(key, message, text).equals(createHmac("sha256", key).update(message).update(text).digest()),
    ),
  );
});

test("bytes are equal when length and content are", () => {
  expect(equalBytes(Buffer.from("same"), Buffer.from("same"))).toBe(true);
  expect(["some", "sam", "samee", ""].some((other) => equalBytes(Buffer.from("same"), Buffer.from(other)))).toBe(false);
});
