/** @module A board in memory with workspaces in a directory of the test's own. */
import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { createLogger, type LogRecord } from "../../src/base/log.ts";
import type { NewTask } from "../../src/board/create-task.ts";
import { type BoardFiles, boardFiles } from "../../src/board/files.ts";
import { openStore, type Store } from "../../src/board/store.ts";
import type { Task } from "../../src/board/task.ts";
import { createWorkspaces, type SweptWorkspaces } from "../../src/dispatcher/workspaces/create-workspaces.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

export interface WorkspaceBench extends AsyncDisposable {
  readonly path: string;
  readonly store: Store;
  readonly files: BoardFiles;
  readonly workspaces: SweptWorkspaces;
  readonly records: LogRecord[];
  task(fields?: Partial<NewTask>): Promise<Task>;
  finish(task: Task): Promise<Task>;
  bash(script: string, cwd?: string): string;
}

export async function workspaceBench(): Promise<WorkspaceBench> {
  const scratch = await temporaryDirectory();
  const store = await openStore(":memory:");
  const files = boardFiles(join(scratch.path, "home"));
  await mkdir(join(scratch.path, "home"));
  const records: LogRecord[] = [];
  const log = createLogger({ clock: systemClock, level: "debug", sink: (record) => records.push(record) });
  return {
    path: scratch.path,
    store,
    files,
    records,
    workspaces: createWorkspaces({ store, files, clock: systemClock, log, git: { path: process.env.PATH } }),
    task: async (fields) => (await store.createTask({ title: "a task", ...fields }, { by: "test" })).task,
    finish: (task) => store.complete(task.id, {}, { by: "test" }),
    bash: (script, cwd = scratch.path) =>
      execFileSync("bash", ["-ec", script], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await scratch[Symbol.asyncDispose]();
    },
  };
}
