/** @module Workspaces of the kind `dir:/path`: a directory of the user, which is made if need be and never removed. */
import { realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { describeError, systemCode } from "../../base/errors.ts";
import type { Logger } from "../../base/log.ts";
import { makeDirectory } from "../../base/make-directory.ts";
import type { Store } from "../../board/store.ts";
import type { Task } from "../../board/task.ts";
import type { TroubleReport } from "../trouble-report.ts";
import { parseWorkspace } from "./parse-workspace.ts";
import { refused } from "./refuse.ts";

export interface SharedDirectoryOptions {
  readonly store: Pick<Store, "runs" | "getTask">;
  readonly log: Logger;
  /** By directory, so that it is told once of all that work in it. */
  readonly shared: TroubleReport;
}

export async function prepareDirectory(task: Task, path: string, { store, log, shared }: SharedDirectoryOptions): Promise<string> {
  const directory = resolve(path);
  try {
    await makeDirectory(directory);
    if (!(await stat(directory)).isDirectory()) throw refused("it is not a directory");
  } catch (error) {
    const reason = ["EEXIST", "ENOTDIR"].includes(systemCode(error) ?? "") ? "a file is in its place" : describeError(error);
    throw refused(`the directory ${directory} of ${task.id} cannot be used: ${reason}`, {
      facts: { task: task.id, path: directory },
      cause: error,
    });
  }
  const real = await realpath(directory);
  const others = await runningIn(real, task, store);
  if (others.length === 0) shared.ends(real);
  else if (shared.begins(real, "shared")) {
    const fields = { task: task.id, path: directory, others };
    log.warn(`${task.id} works in the same directory as ${others.join(", ")}, ${directory}, and nothing keeps them apart`, fields);
  }
  return directory;
}

async function runningIn(real: string, task: Task, store: SharedDirectoryOptions["store"]): Promise<string[]> {
  const runs = (await store.runs({ open: true })).filter((run) => run.task !== task.id);
  const found: string[] = [];
  for (const run of runs) {
    const { kind, path } = parseWorkspace((await store.getTask(run.task)).workspace);
    if (kind === "dir" && path !== null && (await resolved(path)) === real) found.push(run.task);
  }
  return found;
}

/** As written where it cannot be resolved: then nothing runs in it yet. */
async function resolved(path: string): Promise<string> {
  return await realpath(path).catch(() => resolve(path));
}
