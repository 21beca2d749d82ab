import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "./duration.ts";
import { HoldfastError } from "./errors.ts";

test.each([
  ["90", 90_000],
  ["0.5", 500],
  ["30m", 1_800_000],
  ["1h30m", 5_400_000],
  ["2d", 172_800_000],
  [" 1w ", 604_800_000],
])("%s is read", (text, ms) => expect(parseDuration("max_runtime", text)).toBe(ms));

test.each(["", "0", "-1", "1x", "m", "1h 30m x", "1e9", "9999999w", "30 m"])("%j is refused, with how to write it", (text) => {
  expect(() => parseDuration("max_runtime", text)).toThrow(HoldfastError);
});

test.each([
  ["0s", "must be longer than 0"],
  ["9999999w", "is longer than a hundred years"],
  ["soon", "is not a length of time"],
])("%j is refused with what is wrong with it: %s", (text, words) => {
  expect(() => parseDuration("--in", text)).toThrow(`--in ${words}: "${text}"`);
});

test.each([
  [0, "0s"],
  [12_400, "12s"],
  [3_900_000, "1h 5m"],
  [3_600_000, "1h"],
  [90_061_000, "1d 1h"],
  [3_605_000, "1h"],
])("%d ms is written as %s", (ms, text) => expect(formatDuration(ms)).toBe(text));
