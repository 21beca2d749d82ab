import { expect, test } from "vitest";
import { digest, randomId } from "./ids.ts";

test("identifiers are hexadecimal, of the length asked for, and never the same", () => {
  expect(randomId()).toMatch(/^[0-9a-f]{32}$/);
  expect(randomId(4)).toMatch(/^[0-9a-f]{8}$/);
  expect(new Set(Array.from({ length: 2000 }, () => randomId(8))).size).toBe(2000);
});

test("a digest is the beginning of the SHA-256", () => {
  expect(digest("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(digest("é", 12)).toBe(digest("é").slice(0, 12));
  expect(digest("a")).not.toBe(digest("b"));
});
