/** @module Runs vitest as a process of its own and returns what became of each file, whatever became of the process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FileResult, type RunResult, readEvents, resultOf, type TestFile } from "./events.ts";

const REPORTER = join(import.meta.dirname, "reporter.ts");
const VITEST = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");

export interface VitestOptions {
  /** Only these; without them, all that the configuration names. */
  readonly files?: readonly TestFile[] | undefined;
  /**
   * How many files run at the same time.
   * @default 1
   */
  readonly workers?: number | undefined;
  readonly projects?: readonly string[] | undefined;
  /**
   * Where the configuration is.
   * @default this directory
   */
  readonly root?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * A line for each file, what its tests print, and how they failed.
   * @default false
   */
  readonly show?: boolean;
}

export async function runVitest(options: VitestOptions = {}): Promise<RunResult> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-check-"));
  const events = join(directory, "events");
  try {
    writeFileSync(events, "");
    const status = await start(options, events);
    return withEnd(resultOf(readEvents(events)), status);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** How it ended, in words: null when it ended as it should, with all tests passed or with failures that it told. */
async function start({ files, workers = 1, projects, root = process.cwd(), env = {}, show = false }: VitestOptions, events: string) {
  const names = projects ?? [...new Set(files?.map(({ project }) => project))].filter(Boolean);
  const args = [
    ...["run", "--root", root, `--reporter=${REPORTER}`, `--maxWorkers=${workers}`, "--passWithNoTests"],
    ...names.flatMap((name) => ["--project", name]),
    ...new Set(files?.map(({ path }) => join(root, path))),
  ];
  const child = spawn(process.execPath, [VITEST, ...args], {
    stdio: ["ignore", show ? "inherit" : "ignore", show ? "inherit" : "ignore"],
    env: { ...process.env, ...env, CHECK_EVENTS: events, ...(show && { CHECK_SHOW: "1" }) },
  });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  if (code === 0 || code === 1) return { code, problem: null };
  return { code, problem: signal === null ? `vitest ended with status ${code}` : `vitest was ended by ${signal}` };
}

/** What was running when vitest died has failed with it; and a status that nothing explains is an error, too. */
function withEnd(result: RunResult, { code, problem }: { code: number | null; problem: string | null }): RunResult {
  const broken = ({ state }: FileResult) => state === "failed" || state === "unfinished";
  const files = result.files.map((each) =>
    each.state === "unfinished" && each.errors.length === 0
      ? { ...each, errors: [problem ?? "its process ended before the file did"] }
      : each,
  );
  if (files.some(broken) || result.errors.length > 0 || code === 0) return { ...result, files };
  return { files, errors: [problem ?? "vitest failed, and no test did"] };
}
