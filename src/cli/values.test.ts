import { expect, test } from "vitest";
import { commandOf, numberFor, readableSize, terminalVariables, variables } from "./values.ts";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1_000, "1.0 kB"],
  [12_345, "12 kB"],
  [1_234_567, "1.2 MB"],
  [64 * 1024 * 1024, "67 MB"],
  [5e15, "5000 TB"],
])("%i bytes are %s", (bytes, text) => {
  expect(readableSize(bytes)).toBe(text);
});

test("variables are given, or taken from the caller, who must have them", () => {
  expect(variables(["A=1=2", "B", "C="], { B: "b" })).toEqual({ A: "1=2", B: "b", C: "" });
  expect(() => variables(["D"], {})).toThrow(expect.objectContaining({ code: "usage" }));
});

test("of the caller's terminal only what describes it is taken", () => {
  expect(terminalVariables({ TERM: "xterm", COLORTERM: "", LANG: "C.UTF-8", HOME: "/root" })).toEqual({ TERM: "xterm", LANG: "C.UTF-8" });
});

test("one word is shell text, several are a list", () => {
  expect(commandOf(["a b"])).toBe("a b");
  expect(commandOf(["a", "b"])).toEqual(["a", "b"]);
});

test("numbers are what they claim to be", () => {
  expect(numberFor("--grace")("0.5")).toBe(0.5);
  for (const text of ["", " ", "x", "-1", "Infinity", "NaN"]) expect(() => numberFor("--grace")(text)).toThrow(/^--grace needs a number/);
  expect(() => numberFor("--from", { whole: true })("1.5")).toThrow(/^--from needs a whole number from 0 up, not "1.5"$/);
  expect(() => numberFor("--max", { least: 1, whole: true })("0")).toThrow(/from 1 up/);
});
