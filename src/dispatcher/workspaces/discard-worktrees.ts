/** @module The worktrees of tasks that were removed: they go by the rule for those of finished tasks, and what stays is named (K30). */
import { existsSync } from "node:fs";
import { describeError } from "../../base/errors.ts";
import type { Task } from "../../board/task.ts";
import type { Git } from "./git.ts";
import { worksIn } from "./in-use.ts";
import { parseWorkspace } from "./parse-workspace.ts";
import { openRepository, type Repository } from "./repository.ts";
import { settleWorktree } from "./settle-worktree.ts";
import { worktreePath } from "./worktree.ts";

export interface Discarding {
  /** That of their board, for those that name no repository. */
  readonly defaultWorkdir: string | null;
}

interface DiscardOptions extends Discarding {
  readonly git: Git;
  /** The task that works in a directory, or null. */
  readonly userOf: (path: string) => Promise<string | null>;
}

export interface KeptWorktree {
  /** Its own, or that of a repository that cannot be opened. */
  readonly path: string;
  readonly why: string;
}

/** Those that were never begun, and those with another workspace, have none. */
export async function discardWorktrees(tasks: readonly Task[], { git, userOf, defaultWorkdir }: DiscardOptions): Promise<KeptWorktree[]> {
  const begun = tasks.filter(({ startedAt, workspace }) => startedAt !== null && /^worktree(:|$)/.test(workspace));
  const kept: KeptWorktree[] = [];
  for (const [workspace, own] of Map.groupBy(begun, (task) => task.workspace)) {
    try {
      const from = parseWorkspace(workspace).path ?? defaultWorkdir;
      if (from === null) continue;
      // Once for all of them: most are gone by now, and git is only asked about the others.
      const repository = await openRepository(git, from);
      for (const task of own) kept.push(...(await discard(task, { git, userOf, repository })));
    } catch (error) {
      kept.push({ path: workspace.slice("worktree:".length) || String(defaultWorkdir), why: describeError(error) });
    }
  }
  return kept;
}

async function discard(
  task: Task,
  { git, userOf, repository }: Pick<DiscardOptions, "git" | "userOf"> & { repository: Repository },
): Promise<KeptWorktree[]> {
  const path = worktreePath(repository, task);
  try {
    const user = existsSync(path) ? await userOf(path) : null;
    if (user !== null) return [{ path, why: worksIn(user) }];
    const { kept } = await settleWorktree(task, { git, repository });
    return kept === null ? [] : [{ path, why: kept }];
  } catch (error) {
    return [{ path, why: describeError(error) }];
  }
}
