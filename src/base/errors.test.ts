import { expect, test } from "vitest";
import { describeError, ERROR_KINDS, type ErrorCode, HoldfastError, systemCode, wrapError } from "./errors.ts";

const codes = Object.keys(ERROR_KINDS) as ErrorCode[];

test("the table of codes is alphabetical and every entry is complete", () => {
  expect(codes).toEqual([...codes].sort());
  for (const code of codes) {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(ERROR_KINDS[code].meaning).toMatch(/\.$/);
    expect(ERROR_KINDS[code].fix).toMatch(/\.$/);
  }
});

test("nothing that may have run is retryable", () => {
  expect(["sandbox-lost", "aborted", "internal"].map((code) => ERROR_KINDS[code as ErrorCode].retryable)).toEqual([false, false, false]);
});

test("an error has its code, its facts, its cause, and the code's own fix unless there is a better hint", () => {
  const cause = new Error("below");
  const error = new HoldfastError("busy", "it is busy", { facts: { pid: 1 }, cause });
  expect(error).toMatchObject({ name: "HoldfastError", code: "busy", message: "it is busy", retryable: true, facts: { pid: 1 }, cause });
  expect(error.hint).toBe(ERROR_KINDS.busy.fix);
  expect(new HoldfastError("busy", "x", { hint: "do this" }).hint).toBe("do this");
  expect(error).toBeInstanceOf(Error);
  expect("cause" in new HoldfastError("busy", "x")).toBe(false);
});

test("facts are a copy that nobody changes later", () => {
  const facts = { path: "/a" };
  const error = new HoldfastError("busy", "x", { facts });
  facts.path = "/b";
  expect(error.facts).toEqual({ path: "/a" });
  expect(() => Object.assign(error.facts, { path: "/c" })).toThrow(TypeError);
});

test("it is recognised across copies of the library, and nothing else is", () => {
  const foreign = Object.defineProperty(new Error("x"), Symbol.for("holdfast.error"), { value: true });
  expect([new HoldfastError("busy", "x"), foreign].map(HoldfastError.isInstance)).toEqual([true, true]);
  expect([new Error("x"), null, undefined, "busy", { code: "busy" }].map(HoldfastError.isInstance)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});

test("as JSON it is what a program needs, without stack and cause", () => {
  const json = JSON.parse(JSON.stringify(new HoldfastError("busy", "it is busy", { facts: { pid: 1 }, cause: new Error("below") })));
  expect(json).toEqual({ code: "busy", message: "it is busy", hint: ERROR_KINDS.busy.fix, retryable: true, facts: { pid: 1 } });
});

test("wrapping keeps our own errors as they are and gives others a code, their words and a cause", () => {
  const own = new HoldfastError("busy", "x");
  expect(wrapError(own, "internal", "never")).toBe(own);
  const cause = new Error("no space");
  expect(wrapError(cause, "state-write-failed", "cannot write /a", { facts: { path: "/a" } })).toMatchObject({
    code: "state-write-failed",
    message: "cannot write /a: no space",
    facts: { path: "/a" },
    cause,
  });
  expect(wrapError("text", "internal", "odd").message).toBe("odd: text");
});

test("system codes and descriptions come from any thrown value", () => {
  expect(systemCode(Object.assign(new Error("x"), { code: "ENOENT" }))).toBe("ENOENT");
  expect([systemCode(Object.assign(new Error("x"), { code: 5 })), systemCode({ code: "ENOENT" }), systemCode(null)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect([describeError(new Error("words")), describeError("text"), describeError(undefined)]).toEqual(["words", "text", "undefined"]);
});
