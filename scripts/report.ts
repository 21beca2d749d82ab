/** @module Sums up a run of ./check from what its steps left in a directory: the last thing a person or CI reads. */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

export interface Step {
  readonly name: string;
  readonly status: number;
  readonly milliseconds: number;
}

/** The part of vitest's JSON report that is used here. */
export interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly ancestorTitles: readonly string[];
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

export interface Summary {
  readonly steps: readonly Step[];
  readonly passed: number;
  readonly skipped: number;
  /** One line each. */
  readonly failures: readonly string[];
  /** How many tests each reason took out. */
  readonly skips: ReadonlyMap<string, number>;
}

/** The step whose result is not counted as one but test by test. */
export const TEST_STEP = "tests";
/** As ./check runs them, side by side. */
const LANES = ["others", "engines"];

if (import.meta.main) {
  const summary = summarize(...readResults(process.argv[2] ?? "."));
  const colour = process.stdout.isTTY && !process.env.NO_COLOR;
  console.log(renderSummary(summary, { colour }));
  process.exitCode = summary.failures.length > 0 ? 1 : 0;
}

/** `steps.tsv` has a line per step: name, exit status, milliseconds. */
export function readResults(directory: string): [Step[], VitestReport] {
  const lines = readFileSync(join(directory, "steps.tsv"), "utf8").trim().split("\n");
  const steps = lines
    .map((line) => line.split("\t"))
    .map(([name = "", status, milliseconds]) => ({ name, status: Number(status), milliseconds: Number(milliseconds) }));
  return [steps, { testResults: LANES.flatMap((lane) => readLane(directory, lane)) }];
}

/** Without a report of its own, vitest did not get that far. */
function readLane(directory: string, lane: string): VitestReport["testResults"] {
  try {
    return (JSON.parse(readFileSync(join(directory, `vitest-${lane}.json`), "utf8")) as VitestReport).testResults;
  } catch (error) {
    return [{ name: lane, status: "failed", message: `these tests left no report: ${error}`, assertionResults: [] }];
  }
}

export function summarize(steps: readonly Step[], report: VitestReport): Summary {
  const tests = countTests(report);
  const others = steps.filter(({ name }) => name !== TEST_STEP);
  const failedSteps = others.filter(({ status }) => status !== 0).map(({ name, status }) => `${name} (exit status ${status})`);
  const failures = [...failedSteps, ...tests.failures];

  const testStep = steps.find(({ name }) => name === TEST_STEP);
  if (testStep === undefined) failures.push("tests: they were not run");
  else if (tests.total === 0) failures.push("tests: none was run");
  else if (testStep.status !== 0 && tests.failures.length === 0)
    failures.push(`tests: none failed, but vitest ended with status ${testStep.status}`);
  return { steps, passed: tests.passed + others.length - failedSteps.length, skipped: tests.skipped, failures, skips: tests.skips };
}

function countTests({ testResults: files }: VitestReport) {
  const tests = files.flatMap((file) => file.assertionResults.map((result) => ({ ...result, file: relative(process.cwd(), file.name) })));
  const failed = tests
    .filter(({ status }) => status === "failed")
    .map(({ file, fullName, failureMessages }) => {
      const reason = failureMessages?.[0]?.split("\n")[0];
      return `${file}: ${fullName}${reason ? ` (${reason})` : ""}`;
    });
  // A file that cannot be loaded, or whose hooks fail, has no failed test of its own.
  const broken = files.filter((file) => file.status === "failed" && file.assertionResults.every(({ status }) => status !== "failed"));
  const brokenFiles = broken.map((file) => `${relative(process.cwd(), file.name)}: ${file.message?.split("\n")[0] ?? "the file failed"}`);
  const skipped = tests.filter(({ status }) => status !== "passed" && status !== "failed");
  return {
    total: tests.length,
    passed: tests.filter(({ status }) => status === "passed").length,
    skipped: skipped.length,
    failures: [...failed, ...brokenFiles],
    skips: countBy(skipped.map(({ fullName }) => /\[([^\]]+)\]/.exec(fullName)?.[1] ?? fullName)),
  };
}

function countBy(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

export function renderSummary(summary: Summary, { colour }: { colour: boolean }): string {
  const { steps, passed, skipped, failures, skips } = summary;
  const good = failures.length === 0;
  const bar = "=".repeat(20);
  const verdict = `${bar} ${good ? "CHECK PASSED" : "CHECK FAILED"} ${bar}`;
  return [
    "",
    ...steps.map(
      ({ name, status, milliseconds }) =>
        `  ${status === 0 ? "ok    " : "FAILED"}  ${name.padEnd(24)} ${(milliseconds / 1000).toFixed(1).padStart(6)} s`,
    ),
    ...section(
      "skipped",
      [...skips].map(([reason, count]) => `${count} ${count === 1 ? "test" : "tests"}: ${reason}`),
    ),
    ...section("failed", failures),
    "",
    colour ? `\x1b[1;37;${good ? 42 : 41}m${verdict}\x1b[0m` : verdict,
    `${passed} passed, ${failures.length} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
  ].join("\n");
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", `${title}:`, ...lines.map((line) => `  ${line}`)];
}
