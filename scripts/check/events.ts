/** @module What a run of vitest tells while it goes on, a line of JSON for each event, so that a run which dies leaves what it knew. */
import { appendFileSync, readFileSync } from "node:fs";

/** A test file in one of vitest's projects: the same file may run in two, once for each engine. */
export interface TestFile {
  /** Relative to the root of the run. */
  readonly path: string;
  readonly project: string;
}

export interface TestOutcome {
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  /** Of a failed test: what each of its errors says, whole. */
  readonly errors?: readonly string[];
}

/** Outside of every test. Without a path, nobody knows where it came from. */
interface Unhandled {
  readonly event: "unhandled";
  readonly path: string | null;
  readonly error: string;
}

interface Ended {
  readonly event: "ended";
  readonly file: TestFile;
  readonly milliseconds: number;
  readonly tests: readonly TestOutcome[];
  /** Of the file itself: it could not be loaded, or a hook failed. */
  readonly errors: readonly string[];
}

export type RunEvent = { readonly event: "queued" | "begun"; readonly file: TestFile } | Ended | Unhandled;

export interface FileResult {
  readonly file: TestFile;
  /** `unfinished`: its process died, or the whole run did. `not begun`: the run ended before its turn. */
  readonly state: "passed" | "failed" | "unfinished" | "not begun";
  readonly milliseconds: number;
  readonly tests: readonly TestOutcome[];
  /** Beside those of its tests. */
  readonly errors: readonly string[];
}

export interface RunResult {
  readonly files: readonly FileResult[];
  /** Of which no file is known. */
  readonly errors: readonly string[];
}

export function writeEvent(path: string, event: RunEvent): void {
  appendFileSync(path, `${JSON.stringify(event)}\n`);
}

export function readEvents(path: string): RunEvent[] {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as RunEvent);
}

export function resultOf(events: readonly RunEvent[]): RunResult {
  const files = new Map<string, FileResult>();
  const errors: string[] = [];
  for (const event of events) {
    if (event.event !== "unhandled") files.set(keyOf(event.file), fileAfter(event));
    else if (!blame(files, event)) errors.push(event.error);
  }
  return { files: [...files.values()], errors };
}

function fileAfter(event: Exclude<RunEvent, Unhandled>): FileResult {
  const { file } = event;
  if (event.event !== "ended") {
    return { file, state: event.event === "begun" ? "unfinished" : "not begun", milliseconds: 0, tests: [], errors: [] };
  }
  const { milliseconds, tests, errors } = event;
  const failed = errors.length > 0 || tests.some(({ state }) => state === "failed");
  return { file, state: failed ? "failed" : "passed", milliseconds, tests, errors };
}

/** An error outside of the tests counts against the file that it came from, else against all that were running; false if there was none. */
function blame(files: Map<string, FileResult>, { path, error }: Unhandled): boolean {
  const guilty = [...files].filter(([, { file, state }]) => (path === null ? state === "unfinished" : file.path === path));
  for (const [key, each] of guilty) {
    files.set(key, { ...each, state: each.state === "passed" ? "failed" : each.state, errors: [...each.errors, error] });
  }
  return guilty.length > 0;
}

export function keyOf({ project, path }: TestFile): string {
  return `${project}: ${path}`;
}
