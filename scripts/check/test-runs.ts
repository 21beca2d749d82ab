/** @module Runs tests and gives what failed a second chance, in the open: alone, one file after the other. */
import type { FileResult, RunResult, TestFile } from "./events.ts";
import { keyOf } from "./events.ts";

/** With more of them than that the tests are not to be trusted, and the check fails. */
export const MOST_FLAKY = 3;
/** What is broken so widely is not run again. */
const MOST_AGAIN = 10;

/** Failed, and passed when it ran alone. */
export interface FlakyFile {
  readonly file: TestFile;
  readonly first: FileResult;
}

export interface TestRun {
  /** The last result of each file; of one that failed twice, both times in one. */
  readonly files: readonly FileResult[];
  readonly flaky: readonly FlakyFile[];
  /** Of which no file is known. */
  readonly errors: readonly string[];
}

export interface TestRunOptions {
  /** Runs these files, `alone` one after the other, or all of them. */
  readonly run: (files?: readonly TestFile[], options?: { alone: boolean }) => Promise<RunResult>;
  /** No second chance. */
  readonly strict: boolean;
  readonly say: (line: string) => void;
}

export async function runTests({ run, strict, say }: TestRunOptions): Promise<TestRun> {
  const first = await runToTheEnd(run);
  const failed = first.files.filter(({ state }) => state !== "passed");
  if (strict || failed.length === 0) return { ...first, flaky: [] };
  if (failed.length > MOST_AGAIN) {
    say(`${failed.length} files failed, too many for a second chance`);
    return { ...first, flaky: [] };
  }
  const flaky: FlakyFile[] = [];
  const files = new Map(first.files.map((each) => [keyOf(each.file), each]));
  const errors = [...first.errors];
  for (const before of failed) {
    say(`second chance for ${keyOf(before.file)}`);
    const { files: again, errors: more } = await run([before.file], { alone: true });
    const after = again.find(({ file }) => keyOf(file) === keyOf(before.file));
    errors.push(...more);
    if (after?.state === "passed") flaky.push({ file: before.file, first: before });
    files.set(keyOf(before.file), after?.state === "passed" ? after : bothOf(before, after));
  }
  return { files: [...files.values()], flaky, errors };
}

/** A run that dies leaves files that had not begun: they run after it, as long as each run brings at least one of them to its end. */
async function runToTheEnd(run: TestRunOptions["run"]): Promise<RunResult> {
  let result = await run();
  for (let left = notBegun(result); left.length > 0; left = notBegun(result)) {
    const next = await run(left);
    const begun = next.files.filter(({ state }) => state !== "not begun");
    if (begun.length === 0) break;
    const replaced = new Set(begun.map(({ file }) => keyOf(file)));
    result = {
      files: [...result.files.filter(({ file }) => !replaced.has(keyOf(file))), ...begun],
      errors: [...result.errors, ...next.errors],
    };
  }
  return result;
}

function notBegun({ files }: RunResult): TestFile[] {
  return files.filter(({ state }) => state === "not begun").map(({ file }) => file);
}

/** All that failed, the first time or the second. */
function bothOf(first: FileResult, second: FileResult | undefined): FileResult {
  if (second === undefined) return first;
  const failed = new Map(first.tests.filter(({ state }) => state === "failed").map((test) => [test.name, test]));
  const tests = second.tests.map((test) => (test.state === "failed" ? test : (failed.get(test.name) ?? test)));
  const errors = second.errors.length > 0 ? second.errors : first.errors;
  return second.tests.length === 0 ? { ...first, errors: [...new Set([...first.errors, ...second.errors])] } : { ...second, tests, errors };
}
