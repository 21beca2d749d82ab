import { expect, test } from "vitest";
import { pad, shorten, widthOf } from "./width.ts";

test.each([
  ["abc", 3],
  ["日本", 4],
  ["e\u0301", 1],
  ["🙂", 2],
])("%s takes %d places", (text, width) => expect(widthOf(text)).toBe(width));

test("text is cut to the width, with a mark, and padded to it", () => {
  expect(shorten("abcdef", 4)).toBe("abc…");
  expect(shorten("日本語", 4)).toBe("日…");
  expect(shorten("abc", 3)).toBe("abc");
  expect(pad("日本語", 4)).toBe("日… ");
  expect(pad("ab", 4)).toBe("ab  ");
});
