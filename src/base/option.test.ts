import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { HoldfastError } from "./errors.ts";
import { option } from "./option.ts";

const help = "for tests";

describe("an option knows its kind and can say what it expects", () => {
  test.each([
    [option(z.boolean(), { default: true, help }), "boolean", "true or false"],
    [option(z.int(), { default: 1, help }), "integer", "a whole number"],
    [option(z.int().check(z.minimum(1)), { default: 1, help }), "integer", "a whole number of at least 1"],
    [option(z.int().check(z.minimum(1), z.maximum(9)), { default: 1, help }), "integer", "a whole number from 1 to 9"],
    [option(z.number().check(z.positive()), { default: 1, help }), "number", "a number above 0"],
    [option(z.number().check(z.positive(), z.maximum(9)), { default: 1, help }), "number", "a number above 0 and at most 9"],
    [option(z.number().check(z.lt(9)), { default: 1, help }), "number", "a number below 9"],
    [option(z.string(), { default: "", help }), "string", "a string"],
    [option(z.string().check(z.minLength(1)), { default: "x", help }), "string", "a string that is not empty"],
    [option(z.nullable(z.string()), { default: null, help }), "optional string", "a string"],
    [option(z.enum(["a", "b"]), { default: "a", help }), "enum", "one of a, b"],
    [option(z.array(z.string()), { default: [], help }), "list", "a list of strings"],
    [option(z.record(z.string(), z.string()), { default: {}, help }), "map", "a map of names to strings"],
    [option(z.string(), { default: "", help, expected: "a colour" }), "string", "a colour"],
  ])("%#", (declared, kind, expected) => {
    expect(declared).toMatchObject({ kind, expected });
  });

  test("enums have choices, nothing else has", () => {
    expect(option(z.enum(["a", "b"]), { default: "a", help }).choices).toEqual(["a", "b"]);
    expect(option(z.string(), { default: "a", help }).choices).toEqual([]);
  });

  test("a schema that cannot be written as text is refused when it is declared", () => {
    for (const schema of [z.date(), z.array(z.number()), z.nullable(z.number()), z.record(z.string(), z.number())]) {
      expect(() => option(schema as z.ZodMiniType<null>, { default: null, help })).toThrow(HoldfastError);
    }
  });

  test("nobody can change a default", () => {
    const { default: list } = option(z.array(z.string()), { default: ["a"], help });
    expect(Object.isFrozen(list)).toBe(true);
  });
});
