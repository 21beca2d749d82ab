/** @module Workspaces of the kind `worktree`: a checkout of its own for the task, from a repository of the user (K30). */
import { constants } from "node:fs";
import { lstat, open, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode } from "../../base/errors.ts";
import type { Logger } from "../../base/log.ts";
import { makeDirectory } from "../../base/make-directory.ts";
import type { Task } from "../../board/task.ts";
import type { Git } from "./git.ts";
import { refused } from "./refuse.ts";
import { adminDirectory, type ListedWorktree, listWorktrees, openRepository, type Repository } from "./repository.ts";

const FOLDER = ".worktrees";
/** What git locks a worktree with while it makes it. */
const HALF_MADE = "initializing";

export interface WorktreeOptions {
  readonly git: Git;
  readonly log: Logger;
  /** The repository, or a directory in it. */
  readonly from: string;
}

export interface PreparedWorktree {
  readonly path: string;
  readonly branch: string | null;
}

/** That of an earlier run of the task is used again, as that run has left it. @throws `workspace-failed` */
export async function prepareWorktree(task: Task, { git, log, from }: WorktreeOptions): Promise<PreparedWorktree> {
  const repository = await openRepository(git, from);
  const branch = await checkBranch(git, repository, task.branch ?? `holdfast/${task.id}`);
  const path = worktreePath(repository, task);
  const there = await isThere(path);
  const listed = await listWorktrees(git, repository);
  const own = listed.find((each) => each.path === path);
  if (own !== undefined && there && own.locked !== HALF_MADE) return await reuse(own, { task, repository, branch, log });
  if (own !== undefined)
    await git.run(repository.top, ["worktree", "remove", "--force", ...(own.locked === HALF_MADE ? ["--force"] : []), "--", path]);

  const elsewhere = listed.find((each) => each.branch === branch && each.path !== path);
  if (elsewhere !== undefined) {
    throw refused(`the branch ${branch} of ${task.id} is checked out at ${elsewhere.path}`, {
      hint: "give the task another branch, or check out another one there",
      facts: { task: task.id, branch, path: elsewhere.path },
    });
  }
  await exclude(repository);
  await git.run(repository.top, ["worktree", "add", ...(await startOf(git, repository, { branch, path }))]);
  return { path, branch };
}

export function worktreePath({ top }: Repository, task: Pick<Task, "id">): string {
  return join(top, FOLDER, task.id);
}

/** @throws `workspace-failed` when something else is in its place */
export async function isThere(path: string): Promise<boolean> {
  for (const part of [dirname(path), path]) {
    const stats = await lstat(part).catch((error: unknown) => {
      if (systemCode(error) !== "ENOENT") throw refused(`the worktree ${path} cannot be reached`, { cause: error });
    });
    if (stats === undefined) return false;
    if (!stats.isDirectory())
      throw refused(`${part} is ${stats.isSymbolicLink() ? "a link" : "not a directory"}`, { facts: { path: part } });
  }
  return true;
}

async function reuse(
  own: ListedWorktree,
  { task, repository, branch, log }: { task: Task; repository: Repository; branch: string; log: Logger },
): Promise<PreparedWorktree> {
  if ((await adminDirectory(own.path, repository)) === null) {
    throw refused(`${own.path} is no longer a worktree of ${repository.top}`, {
      hint: `look at what is in it, then remove it, and run \`git worktree prune\` in ${repository.top}`,
      facts: { task: task.id, path: own.path },
    });
  }
  if (own.branch !== branch) {
    log.warn(`the worktree of ${task.id} is on ${own.branch ?? "no branch"} instead of ${branch}`, { task: task.id, path: own.path });
  }
  return { path: own.path, branch: own.branch };
}

/** By git's own rules, and nothing that it would take for an option or a shorthand. */
async function checkBranch(git: Git, { top }: Repository, branch: string): Promise<string> {
  const plain = !branch.startsWith("-") && branch !== "@" && branch !== "HEAD" && !branch.includes("\0");
  if (plain && (await git.ask(top, ["check-ref-format", `refs/heads/${branch}`])).code === 0) return branch;
  throw refused(`${JSON.stringify(branch.slice(0, 200))} cannot be the name of a branch`, { facts: { branch } });
}

/** A branch that is there, or that one remote has, is gone on with; else it begins where the repository stands. */
async function startOf(git: Git, { top }: Repository, { branch, path }: { branch: string; path: string }): Promise<string[]> {
  const local = await git.ask(top, ["show-ref", "--verify", "--quiet", `refs/heads/${branch}`]);
  if (local.code === 0) return ["--", path, branch];
  const found = await git.run(top, ["for-each-ref", "--format=%(refname)", `refs/remotes/*/${branch}`]);
  const remote = found.split("\n").filter((ref) => ref.replace(/^refs\/remotes\/[^/]+\//, "") === branch);
  if (remote.length === 1 && remote[0] !== undefined) return ["--track", "-b", branch, "--", path, remote[0]];
  return ["--no-track", "-b", branch, "--", path, "HEAD"];
}

/** So that the worktrees do not show as new files of the repository. */
async function exclude({ common }: Repository): Promise<void> {
  const file = join(common, "info", "exclude");
  const line = `/${FOLDER}/`;
  try {
    await makeDirectory(dirname(file));
    const text = await readFile(file, "utf8").catch((error: unknown) => {
      if (systemCode(error) === "ENOENT") return "";
      throw error;
    });
    if (text.split("\n").includes(line)) return;
    const handle = await open(file, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o644);
    try {
      await handle.appendFile(`${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw refused(`the worktrees cannot be excluded in ${file}`, { cause: error });
  }
}
