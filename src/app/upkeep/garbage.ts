/** @module Files of a board that nobody needs any more. */
import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HoldfastError, systemCode } from "../../base/errors.ts";
import { listDirectory } from "../../base/list-directory.ts";
import type { BoardFiles } from "../../board/files.ts";
import type { Store } from "../../board/store.ts";
import type { Task } from "../../board/task.ts";
import { isFinished } from "../../board/transitions.ts";
import { type FreeOptions, free } from "../../dispatcher/settle-finished.ts";
import { type KeptFile, leadsAstray, removePath } from "../board-leftovers.ts";
import type { App } from "../create-app.ts";
import { mayShareFiles } from "../shared-files.ts";
import { openWorkspaces } from "../task-workspaces.ts";

/** What is new may belong to a task whose row is not written yet. */
const LEFTOVER_AGE_MS = 86_400_000;
const ENTRY = /^(t_[0-9a-f]{8})(\.log(\.\d+)?)?$/;

export interface Garbage {
  readonly path: string;
  readonly why: string;
}

export interface CollectOptions {
  readonly board: string;
  readonly logsBefore: number;
  /** Only says what would go. */
  readonly dryRun: boolean;
  /** How it is found out that no worker needs what a task has. */
  readonly freeing: FreeOptions;
}

export interface Collected {
  readonly removed: readonly Garbage[];
  readonly kept: readonly KeptFile[];
}

interface Looking {
  readonly app: App;
  readonly store: Store;
  readonly board: string;
  readonly logsBefore: number;
  /** Files of tasks that this database does not know may be those of another one. */
  readonly leftovers: boolean;
}

type Judge = (path: string, task: string) => Promise<Garbage | null>;

export async function collectFiles(app: App, { board, logsBefore, dryRun, freeing }: CollectOptions): Promise<Collected> {
  const { store, files } = await app.kanban();
  const looking = { app, store, board, logsBefore, leftovers: !(await mayShareFiles(app)) };
  const workspaces = await collectWorkspaces(looking, { files, dryRun, freeing });
  const collect = (directory: string, judge: Judge) => collectIn(directory, { app, files, judge, dryRun });
  const all = [
    workspaces,
    await collect(dirname(files.attachments(board, "x")), (path, task) => leftover(path, task, looking)),
    await collect(files.logs(board), (path, task) => logGarbage(path, task, looking)),
  ];
  return { removed: all.flatMap(({ removed }) => removed), kept: all.flatMap(({ kept }) => kept) };
}

/** By the rules of whoever made them (K30). */
async function collectWorkspaces(
  looking: Looking,
  { files, dryRun, freeing }: Pick<CollectOptions, "dryRun" | "freeing"> & { files: BoardFiles },
): Promise<Collected> {
  const { app, board } = looking;
  const root = files.workspaces(board);
  const placed = ({ name, why }: { name: string; why: string }) => ({ path: join(root, name), why });
  try {
    const orphan = async (task: string) => (await leftover(join(root, task), task, looking)) !== null;
    const { removed, kept } = await (await openWorkspaces(app)).sweep(board, {
      dryRun,
      orphan,
      // A worker that has said its last word may still be there.
      busy: async ({ id }) => ((await free(id, freeing, { dryRun })) === "busy" ? `a worker of ${id} is still there` : null),
    });
    return { removed: removed.map(placed), kept: kept.map(placed) };
  } catch (error) {
    if (!HoldfastError.isInstance(error) || error.code !== "workspace-failed") throw error;
    return { removed: [], kept: [{ path: root, why: error.message }] };
  }
}

interface Collecting {
  readonly app: App;
  readonly files: BoardFiles;
  readonly judge: Judge;
  readonly dryRun: boolean;
}

/** Names first and tasks then, so that what is made meanwhile is not taken for a leftover; and each task right before its file goes. */
async function collectIn(directory: string, { app, files, judge, dryRun }: Collecting): Promise<Collected> {
  const astray = await leadsAstray(files, directory);
  if (astray !== null && astray !== "missing") app.log.warn(`${directory} is left alone: ${astray}`);
  const removed: Garbage[] = [];
  const kept: KeptFile[] = [];
  if (astray !== null) return { removed, kept };
  for (const name of listDirectory(directory)) {
    const task = ENTRY.exec(name)?.[1];
    const verdict = task === undefined ? null : await judge(join(directory, name), task);
    if (verdict === null) continue;
    const stayed = dryRun ? [] : await removePath(files, verdict.path);
    if (stayed.length === 0) removed.push(verdict);
    kept.push(...stayed);
  }
  return { removed, kept };
}

async function logGarbage(path: string, id: string, looking: Looking): Promise<Garbage | null> {
  const task = await taskIfAny(looking.store, id, looking.board);
  if (task === null) return leftover(path, id, looking);
  const old = (await changedAt(path)) < looking.logsBefore;
  return isFinished(task.status) && old ? { path, why: `${id} is ${task.status}, and its log is old` } : null;
}

async function leftover(path: string, id: string, { app, store, board, leftovers }: Looking): Promise<Garbage | null> {
  if (!leftovers || (await changedAt(path)) > app.clock.now() - LEFTOVER_AGE_MS) return null;
  return (await taskIfAny(store, id, board)) === null ? { path, why: `there is no task ${id} on this board` } : null;
}

async function taskIfAny(store: Store, id: string, board: string): Promise<Task | null> {
  try {
    const task = await store.getTask(id);
    return task.board === board ? task : null;
  } catch (error) {
    if (HoldfastError.isInstance(error) && error.code === "task-not-found") return null;
    throw error;
  }
}

/** Infinity for what is gone meanwhile: then it is nobody's garbage. */
async function changedAt(path: string): Promise<number> {
  try {
    return (await lstat(path)).mtimeMs;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return Number.POSITIVE_INFINITY;
    throw error;
  }
}
