/** @module Scratch workspaces that nobody needs any more, such as those of a dispatcher that was killed before it could remove them. */
import { readdir } from "node:fs/promises";
import { describeError, HoldfastError } from "../../base/errors.ts";
import type { BoardFiles } from "../../board/files.ts";
import type { Store } from "../../board/store.ts";
import type { Task } from "../../board/task.ts";
import { worksIn } from "./in-use.ts";
import { openManagedRoot } from "./managed.ts";
import type { Settled } from "./settled.ts";

const TASK_ID = /^t_[0-9a-f]{1,64}$/;

export interface SweepOptions {
  /** Only says what would go. @default false */
  readonly dryRun?: boolean;
  /** Whether one may go whose task is not known. @default always */
  readonly orphan?: (task: string) => Promise<boolean>;
  /** Why one of a finished task must stay nevertheless, or null. @default never */
  readonly busy?: (task: Task) => Promise<string | null>;
}

export interface Swept {
  readonly removed: readonly SweptWorkspace[];
  /** Somebody needs them, or they are not ours. */
  readonly needed: readonly SweptWorkspace[];
  /** They should be gone, but could not be removed. */
  readonly kept: readonly SweptWorkspace[];
}

export interface SweptWorkspace {
  /** Of its directory: the id of its task. */
  readonly name: string;
  readonly why: string;
}

export interface Sweeping {
  readonly store: Pick<Store, "getTask">;
  readonly files: BoardFiles;
  /** Why it must stay, or null. */
  readonly neededBy: (task: Task) => Promise<string | null>;
  /** The task that works in a directory, or null. */
  readonly userOf: (path: string) => Promise<string | null>;
  readonly remove: (task: string) => Promise<Settled>;
}

type Verdict = { readonly needed: string } | { readonly useless: string };

export async function sweepWorkspaces(board: string, sweeping: Sweeping, options: SweepOptions): Promise<Swept> {
  const root = await openManagedRoot(sweeping.files, board);
  // Listed before the tasks are asked for: a task is there before its workspace.
  const names = root === null ? [] : (await readdir(root)).sort();
  const swept = { removed: [] as SweptWorkspace[], needed: [] as SweptWorkspace[], kept: [] as SweptWorkspace[] };
  for (const name of names) {
    try {
      const verdict = await judge(name, { board, sweeping, options });
      if ("needed" in verdict) {
        swept.needed.push({ name, why: verdict.needed });
        continue;
      }
      const { removed, kept } = options.dryRun === true ? { removed: true, kept: null } : await sweeping.remove(name);
      if (removed) swept.removed.push({ name, why: verdict.useless });
      else if (kept !== null) swept.kept.push({ name, why: kept });
    } catch (error) {
      swept.kept.push({ name, why: describeError(error) });
    }
  }
  return swept;
}

async function judge(
  name: string,
  { board, sweeping, options }: { board: string; sweeping: Sweeping; options: SweepOptions },
): Promise<Verdict> {
  if (!TASK_ID.test(name)) return { needed: "it is not named like a task" };
  const task = await findTask(sweeping.store, name);
  // It looks at every directory in which anybody works, so only when nothing else keeps this one.
  const inUse = async () => {
    const user = await sweeping.userOf(sweeping.files.workspace(board, name));
    return user === null ? null : worksIn(user);
  };
  if (task === null) {
    const used = await inUse();
    if (used !== null) return { needed: used };
    const useless = (await options.orphan?.(name)) ?? true;
    return useless ? { useless: `there is no task ${name}` } : { needed: "it may belong to a task that is not known here" };
  }
  if (task.board !== board) return { needed: `the task is on the board ${task.board}` };
  const needed = (await sweeping.neededBy(task)) ?? (await inUse()) ?? (await options.busy?.(task)) ?? null;
  return needed === null ? { useless: `${name} is ${task.status}` } : { needed };
}

async function findTask(store: Pick<Store, "getTask">, id: string): Promise<Task | null> {
  try {
    return await store.getTask(id);
  } catch (error) {
    if (HoldfastError.isInstance(error) && error.code === "task-not-found") return null;
    throw error;
  }
}
