/** @module Sums up a run of ./check from what its steps left in a directory: the last thing a person or CI reads. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type FileResult, keyOf } from "./events.ts";
import { MOST_FLAKY, type TestRun } from "./test-runs.ts";

export interface Step {
  readonly name: string;
  readonly status: number;
  readonly milliseconds: number;
}

export interface Summary {
  readonly steps: readonly Step[];
  readonly passed: number;
  readonly skipped: number;
  /** One line each, as all that follows. */
  readonly failures: readonly string[];
  readonly flaky: readonly string[];
  readonly flakyFiles: number;
  readonly slowest: readonly string[];
  readonly soak: readonly string[];
  /** How many tests each reason took out. */
  readonly skips: ReadonlyMap<string, number>;
}

/** The step whose result is not counted as one but test by test. */
export const TEST_STEP = "tests";
const SLOWEST = 10;

if (import.meta.main) {
  const summary = summarize(...readResults(process.argv[2] ?? "."));
  const colour = process.stdout.isTTY && !process.env.NO_COLOR;
  console.log(renderSummary(summary, { colour }));
  process.exitCode = summary.failures.length > 0 ? 1 : 0;
}

/** `steps.tsv` has a line per step: name, exit status, milliseconds. `soak.tsv` one per count: what, how many. */
export function readResults(directory: string): [Step[], TestRun, string[]] {
  const steps = linesOf(readFileSync(join(directory, "steps.tsv"), "utf8"))
    .map((line) => line.split("\t"))
    .map(([name = "", status, milliseconds]) => ({ name, status: Number(status), milliseconds: Number(milliseconds) }));
  return [steps, readTests(join(directory, "tests.json")), readSoak(join(directory, "soak.tsv"))];
}

function readTests(path: string): TestRun {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as TestRun;
  } catch (error) {
    return { files: [], flaky: [], errors: [`the tests left no report: ${error}`] };
  }
}

function readSoak(path: string): string[] {
  try {
    return [...new Set(linesOf(readFileSync(path, "utf8")))].sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function linesOf(text: string): string[] {
  return text.split("\n").filter(Boolean);
}

export function summarize(steps: readonly Step[], run: TestRun, soak: readonly string[] = []): Summary {
  const tests = countTests(run);
  const others = steps.filter(({ name }) => name !== TEST_STEP);
  const failedSteps = others.filter(({ status }) => status !== 0).map(({ name, status }) => `${name} (exit status ${status})`);
  const failures = [...failedSteps, ...tests.failures, ...run.errors.map(firstLine)];

  const flakyFiles = run.flaky.length;
  if (flakyFiles > MOST_FLAKY)
    failures.push(`tests: ${flakyFiles} files passed only when they ran again, and more than ${MOST_FLAKY} is too many`);
  const testStep = steps.find(({ name }) => name === TEST_STEP);
  if (testStep === undefined) failures.push("tests: they were not run");
  else if (tests.total === 0 && run.errors.length === 0) failures.push("tests: none was run");
  else if (testStep.status !== 0 && failures.length === failedSteps.length)
    failures.push(`tests: none failed, but their step ended with status ${testStep.status}`);
  return {
    steps,
    passed: tests.passed + others.length - failedSteps.length,
    skipped: tests.skipped,
    failures,
    flaky: run.flaky.flatMap(({ first }) => failuresOf(first).map((line) => `flaky: ${line}`)),
    flakyFiles,
    slowest: [...run.files]
      .sort((a, b) => b.milliseconds - a.milliseconds)
      .slice(0, SLOWEST)
      .map(({ file, milliseconds }) => `${seconds(milliseconds)}  ${keyOf(file)}`),
    soak: soak.map((line) => line.replace("\t", ": ")),
    skips: tests.skips,
  };
}

function countTests({ files }: TestRun) {
  const tests = files.flatMap((each) => each.tests);
  const skipped = tests.filter(({ state }) => state === "skipped");
  return {
    total: tests.length,
    passed: tests.filter(({ state }) => state === "passed").length,
    skipped: skipped.length,
    failures: files.filter(({ state }) => state !== "passed").flatMap(failuresOf),
    skips: countBy(skipped.map(({ name }) => /\[([^\]]+)\]/.exec(name)?.[1] ?? name)),
  };
}

/** A line for each test that failed, and for what failed beside them. */
export function failuresOf({ file, state, tests, errors }: FileResult): string[] {
  const failed = tests
    .filter((test) => test.state === "failed")
    .map(({ name, errors: causes = [] }) => {
      const [reason] = causes.map(firstLine);
      return `${file.path}: ${name}${reason ? ` (${reason})` : ""}`;
    });
  const beside = errors.map((error) => `${file.path}: ${firstLine(error)}`);
  const all = [...failed, ...beside];
  return all.length > 0 ? all : [`${file.path}: ${state}`];
}

/** As it is printed when the file has ended. */
export function fileLine({ file, state, tests, milliseconds }: FileResult): string {
  const failed = tests.filter((each) => each.state === "failed").length;
  const count = `${tests.length} ${tests.length === 1 ? "test" : "tests"}${failed > 0 ? `, ${failed} failed` : ""}`;
  return `${seconds(milliseconds)}  ${keyOf(file)} (${count})${state === "passed" ? "" : `  ${state.toUpperCase()}`}`;
}

/** All that its failures said; nothing of a file that has passed. */
export function failureText(result: FileResult): string {
  const { state, tests, errors } = result;
  if (state === "passed") return "";
  const failed = tests.filter(({ state }) => state === "failed").map(({ name, errors: causes = [] }) => [name, ...causes].join("\n"));
  const texts = [...failed, ...errors];
  return texts.length > 0 ? texts.join("\n\n") : failuresOf(result).join("\n");
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? "";
}

function countBy(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

export function renderSummary(summary: Summary, { colour }: { colour: boolean }): string {
  const { steps, passed, skipped, failures, flaky, flakyFiles, slowest, soak, skips } = summary;
  const good = failures.length === 0;
  const bar = "=".repeat(20);
  const verdict = `${bar} ${good ? "CHECK PASSED" : "CHECK FAILED"} ${bar}`;
  const total = steps.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  return [
    ...section(
      "skipped",
      [...skips].map(([reason, count]) => `${count} ${count === 1 ? "test" : "tests"}: ${reason}`),
    ),
    ...section("counts of --soak", soak),
    ...section("slowest files", slowest),
    "",
    ...steps.map(
      ({ name, status, milliseconds }) => `  ${status === 0 ? "ok    " : "FAILED"}  ${name.padEnd(24)} ${seconds(milliseconds)}`,
    ),
    `          ${"in all".padEnd(24)} ${seconds(total)}`,
    ...section("failed", failures),
    ...(flaky.length === 0 ? [] : ["", ...flaky]),
    "",
    colour ? `\x1b[1;37;${good ? 42 : 41}m${verdict}\x1b[0m` : verdict,
    `${passed} passed, ${failures.length} failed${skipped > 0 ? `, ${skipped} skipped` : ""}${flakyFiles > 0 ? `, ${flakyFiles} flaky` : ""}`,
  ].join("\n");
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1).padStart(6)} s`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", `${title}:`, ...lines.map((line) => `  ${line}`)];
}
