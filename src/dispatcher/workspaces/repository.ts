/** @module A repository of the user and its worktrees, as git tells of them. */
import { lstat, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { describeError, systemCode } from "../../base/errors.ts";
import type { Git } from "./git.ts";
import { refused } from "./refuse.ts";

const LONGEST_POINTER = 8192;

export interface Repository {
  /** Its files, without links. */
  readonly top: string;
  /** What all its worktrees share. */
  readonly common: string;
}

export interface ListedWorktree {
  readonly path: string;
  /** Null: none is checked out. */
  readonly branch: string | null;
  /** Why it is locked; null when it is not. */
  readonly locked: string | null;
}

/** Found by git itself, which refuses a repository of somebody else. @throws `workspace-failed` */
export async function openRepository(git: Git, path: string): Promise<Repository> {
  const facts = { path };
  const stats = await stat(path).catch((error: unknown) => {
    throw refused(`the repository ${path} cannot be opened: ${describeError(error)}`, { facts, cause: error });
  });
  if (!stats.isDirectory()) throw refused(`the repository ${path} is not a directory`, { facts });
  const ask = async (what: string) => (await git.run(path, ["rev-parse", "--path-format=absolute", what])).replace(/\n$/, "");
  return { top: await ask("--show-toplevel"), common: await ask("--git-common-dir") };
}

export async function listWorktrees(git: Git, { top }: Repository): Promise<ListedWorktree[]> {
  return parseWorktrees(await git.run(top, ["worktree", "list", "--porcelain", "-z"]));
}

export function parseWorktrees(text: string): ListedWorktree[] {
  return text
    .split("\0\0")
    .filter((record) => record !== "")
    .map((record) => {
      const fields = new Map(record.split("\0").map((line): [string, string] => [line.split(" ", 1)[0] ?? "", line.replace(/^\S+ ?/, "")]));
      const branch = fields.get("branch")?.replace(/^refs\/heads\//, "") ?? null;
      return { path: fields.get("worktree") ?? "", branch, locked: fields.get("locked") ?? null };
    });
}

/**
 * Where git keeps what belongs to the worktree alone, if both point at each other; else null. Whoever worked in it can have put anything
 * in the place of its `.git`, such as a repository whose settings name programs, so git is never let find it there by itself.
 */
export async function adminDirectory(path: string, { common }: Repository): Promise<string | null> {
  const pointer = await readPointer(join(path, ".git"));
  if (!pointer?.startsWith("gitdir: ")) return null;
  const admin = resolve(path, pointer.slice("gitdir: ".length));
  if (dirname(admin) !== join(common, "worktrees")) return null;
  const back = await readPointer(join(admin, "gitdir"));
  return back !== undefined && resolve(admin, back) === join(path, ".git") ? admin : null;
}

async function readPointer(path: string): Promise<string | undefined> {
  try {
    const stats = await lstat(path);
    return stats.isFile() && stats.size <= LONGEST_POINTER ? (await readFile(path, "utf8")).replace(/\n$/, "") : undefined;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "")) return undefined;
    throw refused(`${path} cannot be read: ${describeError(error)}`, { facts: { path }, cause: error });
  }
}
