/** @module Tasks whose run and status do not fit together, which no operation of the board leaves behind: found and put right. */
import type { Store } from "../board/store.ts";
import type { OpenRun } from "../board/waiting.ts";
import type { DispatchSettings } from "./settings.ts";
import type { Launcher } from "./worker.ts";

export interface ReconcileOptions {
  readonly store: Pick<Store, "listTasks" | "mendTasks" | "openRuns" | "revoke" | "runs">;
  readonly launcher: Pick<Launcher, "end" | "look">;
  readonly by: string;
  readonly board: string;
  readonly settings: DispatchSettings;
}

/** The tasks that were put right. */
export async function reconcile({ store, launcher, by, board, settings }: ReconcileOptions): Promise<string[]> {
  const { loose, bare } = await findMisfits(store, board);
  if (loose.length + bare.length === 0) return [];
  for (const run of loose) {
    // As everywhere, its worker must be dead before the task can be anybody's.
    await store.revoke(run.id, { by, reason: "its task is not running" });
    // Only now is it certain that nobody records a worker any more.
    const revoked = (await store.runs({ task: run.task })).find(({ id }) => id === run.id) ?? run;
    if ((await launcher.look(revoked)) !== "elsewhere") await launcher.end(revoked, { graceMs: settings.graceMs });
  }
  const tasks = [...loose.map(({ task }) => task), ...bare];
  await store.mendTasks(tasks);
  return tasks;
}

interface Misfits {
  /** Open runs of tasks that are not running. */
  readonly loose: readonly OpenRun[];
  /** Running tasks without an open run. */
  readonly bare: readonly string[];
}

/** The two lists are read at two moments; only what does not fit in either order is more than a move in between. */
export async function findMisfits(store: Pick<Store, "listTasks" | "openRuns">, board: string): Promise<Misfits> {
  const runsBefore = await store.openRuns(board);
  const tasksBetween = await runningTasks(store, board);
  if (agree(runsBefore, tasksBetween)) return { loose: [], bare: [] };
  const tasksAfter = await runningTasks(store, board);
  const runsAfter = await store.openRuns(board);
  const before = misfits(runsBefore, tasksBetween);
  const after = misfits(runsAfter, tasksAfter);
  return {
    loose: after.loose.filter(({ id }) => before.loose.some((run) => run.id === id)),
    bare: after.bare.filter((task) => before.bare.includes(task)),
  };
}

async function runningTasks(store: Pick<Store, "listTasks">, board: string): Promise<Set<string>> {
  return new Set((await store.listTasks({ board, status: "running" })).map(({ id }) => id));
}

function misfits(runs: readonly OpenRun[], tasks: ReadonlySet<string>): Misfits {
  const having = new Set(runs.map(({ task }) => task));
  return { loose: runs.filter(({ task }) => !tasks.has(task)), bare: [...tasks].filter((task) => !having.has(task)) };
}

function agree(runs: readonly OpenRun[], tasks: ReadonlySet<string>): boolean {
  const { loose, bare } = misfits(runs, tasks);
  return loose.length + bare.length === 0;
}
