/** @module The workspaces of tasks: made for a run, kept for the next one, and gone when nobody needs them (K30). */
import { existsSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { describeError, HoldfastError } from "../../base/errors.ts";
import type { Logger } from "../../base/log.ts";
import type { BoardFiles } from "../../board/files.ts";
import type { Store } from "../../board/store.ts";
import type { Task } from "../../board/task.ts";
import { isFinished } from "../../board/transitions.ts";
import { createTroubleReport } from "../trouble-report.ts";
import type { Workspaces } from "../workspace.ts";
import { type Discarding, discardWorktrees, type KeptWorktree } from "./discard-worktrees.ts";
import { createGit } from "./git.ts";
import { userOf, worksIn } from "./in-use.ts";
import { locateWorkspace } from "./locate.ts";
import { makeManaged, type RemoveManagedOptions } from "./managed.ts";
import { parseWorkspace } from "./parse-workspace.ts";
import { refused } from "./refuse.ts";
import { openRepository } from "./repository.ts";
import { removeScratch } from "./scratch.ts";
import { settleWorktree } from "./settle-worktree.ts";
import type { Settled } from "./settled.ts";
import { prepareDirectory } from "./shared-directory.ts";
import { type SweepOptions, type Swept, sweepWorkspaces } from "./sweep.ts";
import { prepareWorktree, worktreePath } from "./worktree.ts";

export interface WorkspacesOptions extends Pick<RemoveManagedOptions, "removeForeign"> {
  readonly store: Pick<Store, "getTask" | "getBoard" | "children" | "parents" | "runs" | "attachments" | "namedPlaces">;
  readonly files: BoardFiles;
  readonly clock: Clock;
  readonly log: Logger;
  readonly git?: { readonly path?: string | undefined; readonly limitMs?: number | undefined } | undefined;
}

export interface SweptWorkspaces extends Workspaces {
  /** Removes the scratch workspaces of tasks that are finished or no longer exist, by the same rules. @throws `workspace-failed` */
  sweep(board: string, options?: SweepOptions): Promise<Swept>;
  /** Where that of a task is, or the repository that it should be in and that cannot be opened. Null: there is none. */
  locate(task: Task): Promise<string | null>;
  /** The unfinished task that works in a directory, in one in it, or in one around it; null when there is none. */
  userOf(path: string): Promise<string | null>;
  /** Settles the worktrees of tasks that are gone with their board. Says what stays. */
  discard(tasks: readonly Task[], board: Discarding): Promise<KeptWorktree[]>;
}

export function createWorkspaces({ store, files, clock, log, removeForeign, git: gitOptions }: WorkspacesOptions): SweptWorkspaces {
  const git = createGit({ clock, ...gitOptions });
  const shared = createTroubleReport();
  /** Tasks whose workspace stays only because another task works in it, by that one. */
  const keptFor = new Map<string, Set<string>>();
  const userAt = (path: string) => userOf(path, store);

  return {
    async prepare(task) {
      const { kind, path } = parseWorkspace(task.workspace);
      if (kind === "worktree") return { kind, ...(await prepareWorktree(task, { git, log, from: await repositoryOf(task, path) })) };
      if (path !== null) return { kind, path: await prepareDirectory(task, path, { store, log, shared }), branch: null };
      return { kind, path: await makeManaged({ files, board: task.board, task: task.id }), branch: null };
    },
    async settle(task) {
      const settled = await settleOne(task.id);
      // What a parent has left may have waited for this one.
      for (const parent of await store.parents(task.id)) await settleOne(parent.id);
      const waiting = keptFor.get(task.id) ?? [];
      keptFor.delete(task.id);
      for (const id of waiting) await settleOne(id).catch(unlessGone);
      return settled;
    },
    sweep: (board, options = {}) =>
      sweepWorkspaces(
        board,
        { store, files, neededBy, userOf: userAt, remove: (task) => attempt(task, () => scratch({ board, task })) },
        options,
      ),
    locate: (task) => locateWorkspace(task, { git, files, repositoryNamed }),
    userOf: userAt,
    discard: (tasks, board) => discardWorktrees(tasks, { git, userOf: userAt, ...board }),
  };

  async function settleOne(id: string): Promise<Settled> {
    // As it is now: it may have been taken up again since.
    const task = await store.getTask(id);
    const needed = await neededBy(task);
    if (needed !== null) return { removed: false, kept: needed };
    return await attempt(id, async () => {
      const { kind, path } = parseWorkspace(task.workspace);
      if (kind === "dir") return { removed: false, kept: `${path} is the user's own` };
      if (kind === "scratch") return (await inUse(id, files.workspace(task.board, id))) ?? (await scratch({ board: task.board, task: id }));
      const repository = await openRepository(git, await repositoryOf(task, path));
      return (await inUse(id, worktreePath(repository, task))) ?? (await settleWorktree(task, { git, repository }));
    });
  }

  async function neededBy(task: Task): Promise<string | null> {
    if (!isFinished(task.status)) return `${task.id} is not finished`;
    const waiting = (await store.children(task.id)).filter(({ status }) => !isFinished(status));
    return waiting.length === 0 ? null : `${waiting.map(({ id }) => id).join(", ")} may still need it`;
  }

  /** Remembers for whom it stays, so that it goes when that one is settled. */
  async function inUse(task: string, path: string): Promise<Settled | null> {
    const user = existsSync(path) ? await userAt(path) : null;
    if (user === null) return null;
    keptFor.set(user, (keptFor.get(user) ?? new Set()).add(task));
    return { removed: false, kept: worksIn(user) };
  }

  async function scratch({ board, task }: { board: string; task: string }): Promise<Settled> {
    return { removed: await removeScratch({ files, board, task }, { store, log, removeForeign }), kept: null };
  }

  /** What cannot be removed is no reason to stop: it is said, and the next sweep tries again. */
  async function attempt(task: string, work: () => Promise<Settled>): Promise<Settled> {
    try {
      const settled = await work();
      if (settled.removed) log.debug(`the workspace of ${task} is removed`, { task });
      if (settled.kept !== null) log.info(`the workspace of ${task} is kept: ${settled.kept}`, { task });
      return settled;
    } catch (error) {
      if (HoldfastError.isInstance(error) && error.code !== "workspace-failed") throw error;
      log.warn(`the workspace of ${task} is kept: ${describeError(error)}`, { task });
      return { removed: false, kept: describeError(error) };
    }
  }

  async function repositoryNamed(task: Task, path: string | null): Promise<string | null> {
    return path ?? (await store.getBoard(task.board)).defaultWorkdir;
  }

  async function repositoryOf(task: Task, path: string | null): Promise<string> {
    const found = await repositoryNamed(task, path);
    if (found !== null) return found;
    throw refused(`${task.id} wants a worktree, but names no repository, and the board ${task.board} has no default directory`, {
      hint: "say worktree:/path/of/repository, or give the board a default directory",
      facts: { task: task.id, board: task.board },
    });
  }
}

function unlessGone(error: unknown): void {
  if (!HoldfastError.isInstance(error) || error.code !== "task-not-found") throw error;
}
