import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HoldfastError } from "./errors.ts";
import { parseProfileName, parseSessionName, parseTaskName, taskSegment } from "./names.ts";

const awkward = fc.oneof(
  fc.string({ unit: "binary", maxLength: 150 }),
  fc.string({ unit: fc.constantFrom(..."abAB01_.-~/\\: \n\0äé"), maxLength: 20 }),
);
const wellFormed = awkward.filter((text) => text.isWellFormed());

function accepted(parse: (input: string) => string, input: string): string | null {
  try {
    return parse(input);
  } catch (error) {
    expect(error).toMatchObject({ code: "invalid-name", facts: { kind: expect.any(String) } });
    expect(HoldfastError.isInstance(error)).toBe(true);
    return null;
  }
}

describe("names", () => {
  test.for([
    ["profile", parseProfileName],
    ["session", parseSessionName],
  ] as const)("of a %s never lead out of a directory, whatever was typed", ([, parse]) => {
    fc.assert(
      fc.property(awkward, (input) => {
        const name = accepted(parse, input);
        if (name === null) return;
        expect(name).not.toMatch(/[/\\\0\n]|\.\.|^[.\-~]/);
        expect(name.length).toBeGreaterThan(0);
        expect(parse(name)).toBe(name);
      }),
      { numRuns: 2000 },
    );
  });

  test("K1 profile names are trimmed, lower-cased and checked", () => {
    expect(parseProfileName("  Work_1-a ")).toBe("work_1-a");
    for (const name of ["", " ", "-a", "_a", "a b", "a/b", "..", "ä", "a.b", "x".repeat(65)])
      expect(accepted(parseProfileName, name)).toBeNull();
    expect(parseProfileName("x".repeat(64))).toHaveLength(64);
  });

  test("session names are taken as they are or not at all", () => {
    for (const name of ["default", "A.b-c_1", "0", "x".repeat(64)]) expect(parseSessionName(name)).toBe(name);
    for (const name of ["", ".", "..", "../x", "a..b", "a/b", " a", "a ", "-a", "a\n", "ä", "x".repeat(65)])
      expect(accepted(parseSessionName, name)).toBeNull();
  });

  test("task names may hold what boards and chats put in them", () => {
    for (const name of ["t_1", "a:b", "with space", "ünï 漢 🙂", "user@chat#1", "a.b", "x".repeat(128)])
      expect(parseTaskName(name)).toBe(name);
    const refused = ["", " ", " a", "a ", "a\u2003", "a\nb", "a\0b", "\u007f", "\u0085", "a\u2028b", "\ud800", "x".repeat(129)];
    for (const name of refused) expect(accepted(parseTaskName, name)).toBeNull();
  });

  test("S12 task names may hold any printable character, and each has a path segment of its own", () => {
    const names = [
      "task/with:weird*chars",
      "task_with_weird_chars",
      "a/b",
      "a\\b",
      "/etc",
      "../../x",
      ".",
      "..",
      "a..b",
      ".a",
      "-a",
      "~",
      "~a",
    ];
    for (const name of names) expect(parseTaskName(name)).toBe(name);
    const segments = names.map(taskSegment);
    expect(new Set(segments).size).toBe(names.length);
    for (const segment of segments) expect(segment).toMatch(/^[A-Za-z0-9_](?!.*\.\.)[A-Za-z0-9_.~-]*$/);
  });

  test("a refusal shows the name, cut if it is long, and says the rule", () => {
    const refusal = expect.objectContaining({
      message: expect.stringMatching(/^"x{80}…" is not a valid task name$/),
      hint: expect.stringContaining("1 to 128"),
    });
    expect(() => parseTaskName("x".repeat(5000))).toThrow(refusal);
  });
});

describe("the path segment of a task", () => {
  test("is another one for every other task", () => {
    fc.assert(
      fc.property(fc.uniqueArray(wellFormed, { minLength: 2, maxLength: 20 }), (tasks) => {
        expect(new Set(tasks.map(taskSegment)).size).toBe(tasks.length);
      }),
      { numRuns: 300 },
    );
    const alike = ["a:b", "a_b", "a b", "a/b", "A_b", "a_b~", "..", "__", ".", "", "x".repeat(63), "x".repeat(64), "x".repeat(65)];
    expect(new Set(alike.map(taskSegment)).size).toBe(alike.length);
  });

  test("is one plain segment, whatever the task is called", () => {
    fc.assert(
      fc.property(awkward, (task) => {
        const segment = taskSegment(task);
        expect(segment).toMatch(/^[A-Za-z0-9_.~-]{1,64}$/);
        expect(segment).not.toMatch(/\.\./);
        expect([".", ".."]).not.toContain(segment);
      }),
      { numRuns: 2000 },
    );
  });

  test("is the task's own name where that is plain", () => {
    for (const name of ["default", "t_1f", "a.b-c"]) expect(taskSegment(name)).toBe(name);
    expect(taskSegment("a:b")).toMatch(/^a_b~[0-9a-f]{12}$/);
  });
});
