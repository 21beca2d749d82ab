import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { type Option, option } from "./option.ts";
import { readOption } from "./read-option.ts";

const help = "for tests";
const flag = option(z.boolean(), { default: false, help });
const count = option(z.int().check(z.minimum(1)), { default: 1, help });
const amount = option(z.number().check(z.minimum(0)), { default: 1, help });
const name = option(z.string().check(z.minLength(1)), { default: "x", help });
const maybe = option(z.nullable(z.string()), { default: null, help });
const choice = option(z.enum(["lenient", "strict"]), { default: "strict", help });
const list = option(z.array(z.string().check(z.regex(/^[a-z]+$/))), { default: [], help });
const map = option(z.record(z.string().check(z.regex(/^[A-Z_]+$/i)), z.string()), { default: {}, help });

function value(declared: Option, input: unknown): unknown {
  const reading = readOption(declared, input);
  if (!reading.ok) throw new Error(`refused: ${reading.found}`);
  return reading.value;
}

describe("S46 text is read by the kind of the option", () => {
  test.each(["true", "TRUE", "True", "1", "yes", "Yes", "YES", "on", "ON"])("%s is true", (text) => expect(value(flag, text)).toBe(true));
  test.each(["false", "FALSE", "False", "0", "no", "No", "NO", "off", "Off"])("%s is false", (text) =>
    expect(value(flag, text)).toBe(false),
  );
  test.each(["", "y", "2", " true", "true ", "wahr", "null", "toString", "__proto__"])("boolean %j is refused", (text) => {
    expect(readOption(flag, text)).toMatchObject({ ok: false, expected: "true or false", found: JSON.stringify(text) });
  });

  test("numbers are decimal", () => {
    expect(value(count, "7")).toBe(7);
    expect(value(count, "007")).toBe(7);
    expect(value(amount, "0.25")).toBe(0.25);
    expect(value(amount, "12")).toBe(12);
  });
  test.each(["", "0", "-1", "1.5", "1e3", "0x10", "1_000", "+1", " 1", "1 ", "ten", "Infinity", "NaN", "9007199254740993"])(
    "whole number %j is refused",
    (text) => {
      expect(readOption(count, text)).toMatchObject({ ok: false, expected: "a whole number of at least 1", found: JSON.stringify(text) });
    },
  );
  test.each(["", "-0.1", ".5", "5.", "1e3", "1,5", "NaN", "Infinity"])("number %j is refused", (text) => {
    expect(readOption(amount, text).ok).toBe(false);
  });

  test("strings are taken as they are", () => {
    expect(value(name, " true # \n")).toBe(" true # \n");
    expect(value(maybe, "1.10")).toBe("1.10");
    expect(readOption(name, "")).toMatchObject({ ok: false, found: '""', expected: "a string that is not empty" });
  });

  test("an empty optional string is one that is not set", () => {
    expect(value(maybe, "")).toBeNull();
  });

  test("an enum that is nearly right is told which", () => {
    expect(value(choice, "strict")).toBe("strict");
    expect(readOption(choice, "strcit")).toMatchObject({ ok: false, expected: "one of lenient, strict", hint: 'did you mean "strict"?' });
    expect(readOption(choice, "other")).toMatchObject({ ok: false, hint: undefined });
  });

  test("lists and maps are JSON", () => {
    expect(value(list, '["a", "b"]')).toEqual(["a", "b"]);
    expect(value(list, "[]")).toEqual([]);
    expect(value(map, '{"DEBUG": "1"}')).toEqual({ DEBUG: "1" });
  });
  test.each(["", "a,b", "['a']", '["a"', "{secret"])("%j is no JSON, and the message does not repeat it", (text) => {
    const reading = readOption(list, text);
    expect(reading).toMatchObject({ ok: false, found: "plain text", hint: expect.stringContaining("JSON") });
  });
  test.each([
    ["{}", "a map"],
    ["5", "5"],
    ['"a"', '"a"'],
    ["true", "true"],
  ])("%s is JSON but no list", (text, found) => {
    expect(readOption(list, text)).toMatchObject({ ok: false, found });
  });
});

describe("plain values, as YAML has them", () => {
  test("of the right type are taken as they are", () => {
    expect(value(flag, false)).toBe(false);
    expect(value(count, 5)).toBe(5);
    expect(value(amount, 1.5)).toBe(1.5);
    expect(value(list, ["a"])).toEqual(["a"]);
  });

  test("of another type count as their text", () => {
    expect(value(flag, 0)).toBe(false);
    expect(value(count, "5")).toBe(5);
    expect(value(maybe, 5)).toBe("5");
    expect(value(name, true)).toBe("true");
    expect(readOption(count, true).ok).toBe(false);
    expect(readOption(flag, 2).ok).toBe(false);
  });

  test("nothing is an empty list or map or an optional string that is not set, and an error elsewhere", () => {
    expect(value(list, null)).toEqual([]);
    expect(value(map, null)).toEqual({});
    expect(value(maybe, null)).toBeNull();
    for (const declared of [flag, count, amount, name, choice]) {
      expect(readOption(declared, null)).toMatchObject({ ok: false, found: "nothing" });
    }
  });

  test.each([[Number.NaN], [Number.POSITIVE_INFINITY], [1.5], [[]], [{}]])("%o is no whole number", (input) => {
    expect(readOption(count, input).ok).toBe(false);
  });

  test("a bad entry of a list is named by its place", () => {
    expect(readOption(list, ["a", "b2"])).toMatchObject({ ok: false, found: 'one whose entry 2 is "b2"' });
    expect(readOption(list, ["a", 5, "b2"])).toMatchObject({ ok: false, found: "one whose entry 2 is 5" });
  });

  test("what is found is shortened", () => {
    const reading = readOption(count, "9".repeat(500));
    expect(reading.ok ? "" : reading.found.length).toBeLessThan(80);
  });
});

describe("S10 maps", () => {
  test("scalars become strings, numbers as they were written", () => {
    expect(value(map, { A: 1, B: true, C: "x" })).toEqual({ A: "1", B: "true", C: "x" });
    expect(value(map, '{"A": 1.10, "B": false}')).toEqual({ A: "1.10", B: "false" });
  });

  test("bad names and values that are not scalars are left out, each with its reason", () => {
    const reading = readOption(map, { OK: "1", "B-D": "2", LIST: [], MAP: {}, NONE: null });
    expect(reading).toEqual({
      ok: true,
      value: { OK: "1" },
      leftOut: [
        '"B-D" is not a valid name',
        "the value of LIST is a list, not a string, number or boolean",
        "the value of MAP is a map, not a string, number or boolean",
        "the value of NONE is nothing, not a string, number or boolean",
      ],
    });
  });

  test("a reason never holds the value", () => {
    expect(JSON.stringify(readOption(map, { KEY: "sec\0ret" }))).not.toContain("ret");
  });

  test("a name of the language's own is a name like any other", () => {
    const result = value(map, '{"__proto__": "x", "constructor": "y"}') as object;
    expect(Object.entries(result)).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
    ]);
  });
});

test.each([
  [name, "a\0b"],
  [maybe, "a\0b"],
  [maybe, "\ud800"],
  [option(z.array(z.string()), { default: [], help }), ["a", "b\0"]],
])("text that no path or argument can hold is refused %#", (declared, input) => {
  expect(readOption(declared, input).ok).toBe(false);
});
