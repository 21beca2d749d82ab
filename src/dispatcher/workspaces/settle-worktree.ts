/** @module What becomes of a worktree when its task is finished: it goes if nothing would be lost with it (K30). */
import type { Task } from "../../board/task.ts";
import type { Git } from "./git.ts";
import { adminDirectory, type Repository } from "./repository.ts";
import type { Settled } from "./settled.ts";
import { isThere, worktreePath } from "./worktree.ts";

export interface SettleWorktreeOptions {
  readonly git: Git;
  readonly repository: Repository;
}

/** The branch stays in any case. */
export async function settleWorktree(task: Task, { git, repository }: SettleWorktreeOptions): Promise<Settled> {
  const path = worktreePath(repository, task);
  if (!(await isThere(path))) return { removed: false, kept: null };
  const admin = await adminDirectory(path, repository);
  if (admin === null) return keep(`${path} is no longer a worktree of ${repository.top}`);

  const within = { GIT_DIR: admin, GIT_WORK_TREE: path };
  const ask = (...args: string[]) => git.run(path, args, within);
  if ((await ask("status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all")) !== "") {
    return keep(`${path} has changes that are not committed`);
  }
  const remotes = await ask("remote");
  const tips = await tipsOf(git, { path, within, branch: task.branch ?? `holdfast/${task.id}` });
  // Without a remote the branches are all there is, and they stay.
  const safe = remotes.trim() === "" ? ["--branches", "--tags"] : ["--remotes"];
  if ((await ask("rev-list", "--max-count=1", ...tips, "--not", ...safe)) !== "") {
    return keep(`${path} has commits that are on no ${remotes.trim() === "" ? "branch" : "remote"}`);
  }
  // Git looks once more itself, and refuses what it cannot judge, such as submodules and locked worktrees.
  const { code, complaint } = await git.ask(repository.top, ["worktree", "remove", "--", path]);
  return code === 0 ? { removed: true, kept: null } : keep(`git says: ${complaint}`);
}

/** The branch may be elsewhere than the worktree by now. */
async function tipsOf(
  git: Git,
  { path, within, branch }: { path: string; within: Readonly<Record<string, string>>; branch: string },
): Promise<string[]> {
  const ref = `refs/heads/${branch}`;
  const { code } = await git.ask(path, ["show-ref", "--verify", "--quiet", ref], within);
  return code === 0 ? ["HEAD", ref] : ["HEAD"];
}

function keep(reason: string): Settled {
  return { removed: false, kept: reason };
}
