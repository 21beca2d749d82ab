import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FileResult, TestOutcome } from "../../scripts/check/events.ts";
import { readResults, renderSummary, summarize, TEST_STEP } from "../../scripts/check/report.ts";
import type { TestRun } from "../../scripts/check/test-runs.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

const step = (name: string, status = 0) => ({ name, status, milliseconds: 100 });
const outcome = (state: TestOutcome["state"], name: string): TestOutcome =>
  state === "failed" ? { name, state, errors: ["AssertionError: it is d\n  at x"] } : { name, state };
const file = (state: FileResult["state"], tests: TestOutcome[], change: Partial<FileResult> = {}): FileResult => ({
  file: { path: "test/a.test.ts", project: "sources" },
  state,
  milliseconds: 1500,
  tests,
  errors: [],
  ...change,
});
const run = (files: FileResult[], change: Partial<TestRun> = {}): TestRun => ({ files, flaky: [], errors: [], ...change });
const good = run([file("passed", [outcome("passed", "a"), outcome("passed", "b")])]);
const flakyFile = (name: string) => ({
  file: { path: name, project: "docker" },
  first: file("failed", [outcome("failed", "b is c")], { file: { path: name, project: "docker" } }),
});

const lines = (...args: Parameters<typeof summarize>) => renderSummary(summarize(...args), { colour: false }).split("\n");
const count = (...args: Parameters<typeof summarize>) => lines(...args).at(-1);

describe("the report of ./check", () => {
  test("counts each test and each other step as one, and ends in the plain line", () => {
    expect(count([step("types"), step("build"), step(TEST_STEP)], good)).toBe("4 passed, 0 failed");
    expect(lines([step("types"), step(TEST_STEP)], good).at(-2)).toContain("CHECK PASSED");
  });

  test("names a failed step", () => {
    const shown = lines([step("types", 2), step(TEST_STEP)], good);
    expect(shown.at(-1)).toBe("2 passed, 1 failed");
    expect(shown.at(-2)).toContain("CHECK FAILED");
    expect(shown).toContain("  types (exit status 2)");
  });

  test("names a failed test, its file and why", () => {
    const shown = lines([step(TEST_STEP, 1)], run([file("failed", [outcome("passed", "a"), outcome("failed", "b is c")])]));
    expect(shown).toContain("  test/a.test.ts: b is c (AssertionError: it is d)");
    expect(shown.at(-1)).toBe("1 passed, 1 failed");
  });

  test("counts skips and groups them by their reason", () => {
    const skipped = ["x [needs zsh: gone] a", "x [needs zsh: gone] b", "c", "y [no such thing] d"].map((name) => outcome("skipped", name));
    const shown = lines([step(TEST_STEP)], run([file("passed", [outcome("passed", "a"), ...skipped])]));
    expect(shown).toContain("  2 tests: needs zsh: gone");
    expect(shown).toContain("  1 test: no such thing");
    expect(shown).toContain("  1 test: c");
    expect(shown.at(-1)).toBe("1 passed, 0 failed, 4 skipped");
  });

  test.each<[string, Parameters<typeof summarize>]>([
    ["a file that could not be loaded", [[step(TEST_STEP, 1)], run([...good.files, file("failed", [], { errors: ["boom\nat x"] })])]],
    ["a file whose process died", [[step(TEST_STEP, 1)], run([...good.files, file("unfinished", [])])]],
    ["an error outside the tests", [[step(TEST_STEP, 1)], run([...good.files], { errors: ["boom"] })]],
    ["a status that nothing explains", [[step(TEST_STEP, 1)], good]],
    ["no tests at all", [[step(TEST_STEP)], run([])]],
    ["tests that were not run", [[step("types")], run([])]],
  ])("counts %s as one failure", (_, args) => {
    expect(count(...args)).toMatch(/^\d+ passed, 1 failed$/);
  });

  test("names what was flaky last and counts it, and up to three files of it do no harm", () => {
    const shown = lines([step(TEST_STEP)], { ...good, flaky: [flakyFile("test/b.test.ts")] });
    expect(shown).toContain("flaky: test/b.test.ts: b is c (AssertionError: it is d)");
    expect(shown.at(-2)).toContain("CHECK PASSED");
    expect(shown.at(-1)).toBe("2 passed, 0 failed, 1 flaky");
    const three = ["b", "c", "d"].map(flakyFile);
    expect(count([step(TEST_STEP)], { ...good, flaky: three })).toBe("2 passed, 0 failed, 3 flaky");
    const four = lines([step(TEST_STEP, 1)], { ...good, flaky: [...three, flakyFile("e")] });
    expect(four.at(-2)).toContain("CHECK FAILED");
    expect(four.at(-1)).toBe("2 passed, 1 failed, 4 flaky");
  });

  test("tells the time of each step, the ten slowest files and the counts of a soak", () => {
    const files = Array.from({ length: 12 }, (_, index) =>
      file("passed", [outcome("passed", "a")], { file: { path: `${index}.test.ts`, project: "docker" }, milliseconds: index * 1000 }),
    );
    const shown = lines([step("types"), step(TEST_STEP)], run(files), ["histories\t200"]);
    expect(shown.filter((line) => line.endsWith(".test.ts")).map((line) => line.trim())).toEqual(
      [11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((index) => `${index}.0 s  docker: ${index}.test.ts`),
    );
    expect(shown).toContain("  ok      types                       0.1 s");
    expect(shown).toContain("          in all                      0.2 s");
    expect(shown).toContain("  histories: 200");
  });

  test("says when the tests left no report", async () => {
    await using directory = await temporaryDirectory();
    await writeFile(join(directory.path, "steps.tsv"), `types\t0\t100\n${TEST_STEP}\t134\t100\n`);
    const shown = lines(...readResults(directory.path));
    expect(shown.join("\n")).toContain("the tests left no report");
    expect(shown.at(-1)).toBe("1 passed, 1 failed");
  });
});
