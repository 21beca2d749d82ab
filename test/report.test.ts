import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readResults, renderSummary, summarize, TEST_STEP, type VitestReport } from "../scripts/report.ts";
import { temporaryDirectory } from "./helpers/temporary-directory.ts";

const step = (name: string, status = 0) => ({ name, status, milliseconds: 100 });
const result = (status: string, fullName: string) => ({ status, fullName, ancestorTitles: [] });
const file = (status: string, assertionResults: ReturnType<typeof result>[], message?: string) => ({
  name: `${process.cwd()}/test/a.test.ts`,
  status,
  assertionResults,
  ...(message === undefined ? {} : { message }),
});
const good: VitestReport = { testResults: [file("passed", [result("passed", "a"), result("passed", "b")])] };

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

  test("names a failed test and its file", () => {
    const shown = lines([step(TEST_STEP, 1)], { testResults: [file("failed", [result("passed", "a"), result("failed", "b is c")])] });
    expect(shown).toContain("  test/a.test.ts: b is c");
    expect(shown.at(-1)).toBe("1 passed, 1 failed");
  });

  test("counts skips and groups them by their reason", () => {
    const skipped = [
      result("skipped", "x [needs zsh: gone] a"),
      result("pending", "x [needs zsh: gone] b"),
      result("todo", "c"),
      result("skipped", "y [no such thing] d"),
    ];
    const shown = lines([step(TEST_STEP)], { testResults: [file("passed", [result("passed", "a"), ...skipped])] });
    expect(shown).toContain("  2 tests: needs zsh: gone");
    expect(shown).toContain("  1 test: no such thing");
    expect(shown).toContain("  1 test: c");
    expect(shown.at(-1)).toBe("1 passed, 0 failed, 4 skipped");
  });

  test.each([
    ["a file that could not be loaded", [step(TEST_STEP, 1)], { testResults: [...good.testResults, file("failed", [], "boom\nat x")] }],
    ["an error outside the tests", [step(TEST_STEP, 1)], good],
    ["no tests at all", [step(TEST_STEP)], { testResults: [] }],
    ["tests that were not run", [step("types")], { testResults: [] }],
  ])("counts %s as one failure", (_, steps, report) => {
    expect(count(steps, report)).toMatch(/^\d+ passed, 1 failed$/);
  });

  test("names the tests that left no report, and counts the others", async () => {
    await using directory = await temporaryDirectory();
    await writeFile(join(directory.path, "steps.tsv"), `${TEST_STEP}\t134\t100\n`);
    await writeFile(join(directory.path, "vitest-others.json"), JSON.stringify(good));
    const shown = lines(...readResults(directory.path));
    expect(shown.join("\n")).toContain("engines: these tests left no report");
    expect(shown.at(-1)).toBe("2 passed, 1 failed");
  });
});
