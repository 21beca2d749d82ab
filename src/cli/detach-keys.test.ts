import { describe, expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { createKeyFilter, parseDetachKeys } from "./detach-keys.ts";

const [P, Q] = ["\u0010", "\u0011"];

function typing(keys: string) {
  const clock = createManualClock();
  const seen = { passed: "", detached: false };
  const filter = createKeyFilter({
    keys: parseDetachKeys(keys),
    pass: (bytes) => {
      seen.passed += Buffer.from(bytes).toString("latin1");
    },
    detach: () => {
      seen.detached = true;
    },
    clock,
  });
  return { clock, seen, type: (text: string) => filter(Buffer.from(text, "latin1")) };
}

describe("detach keys", () => {
  test.each([
    ["ctrl-p,ctrl-q", [16, 17]],
    ["ctrl-@", [0]],
    ["ctrl-],q", [29, 113]],
    ["a", [97]],
    ["none", []],
  ])("%s are understood", (text, bytes) => {
    expect([...parseDetachKeys(text)]).toEqual(bytes);
  });

  test.each([[""], ["ctrl-"], ["ctrl-1"], ["ab"], ["a,,b"], ["ä"]])("%j is refused", (text) => {
    expect(() => parseDetachKeys(text)).toThrow(expect.objectContaining({ code: "usage" }));
  });

  test("detach wherever they are typed, in one piece or in several, and do not pass", () => {
    for (const pieces of [[`ls${P}${Q}rest`], ["ls", P, Q, "rest"], [`ls${P}`, `${Q}rest`]]) {
      const { seen, type } = typing("ctrl-p,ctrl-q");
      for (const piece of pieces) type(piece);
      expect(seen).toEqual({ passed: "ls", detached: true });
    }
  });

  test("pass, in order, when the sequence is not finished", () => {
    const { seen, type } = typing("ctrl-p,ctrl-q");
    for (const piece of [P, "x", P, P, "y", Q]) type(piece);
    expect(seen).toEqual({ passed: `${P}x${P}${P}y${Q}`, detached: false });
  });

  test("are found behind a beginning that looks alike", () => {
    const { seen, type } = typing("a,a,b");
    for (const key of "xaaab") type(key);
    expect(seen).toEqual({ passed: "xa", detached: true });
  });

  test("do not keep the first key for long, and still detach after it has passed", async () => {
    const { clock, seen, type } = typing("ctrl-p,ctrl-q");
    type(P);
    expect(seen.passed).toBe("");
    await clock.advance(1_000);
    expect(seen.passed).toBe(P);
    type(Q);
    expect(seen).toEqual({ passed: P, detached: true });
  });

  test("pass only once when they have passed already", async () => {
    const { clock, seen, type } = typing("ctrl-p,ctrl-q");
    type(P);
    await clock.advance(1_000);
    type("x");
    expect(seen).toEqual({ passed: `${P}x`, detached: false });
  });

  test("can be turned off", () => {
    const { seen, type } = typing("none");
    type(`a${P}${Q}`);
    expect(seen).toEqual({ passed: `a${P}${Q}`, detached: false });
  });
});
