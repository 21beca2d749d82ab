/** @module Where the workspace of a task is, for those who name one that was kept. */
import { lstat } from "node:fs/promises";
import { systemCode } from "../../base/errors.ts";
import type { BoardFiles } from "../../board/files.ts";
import type { Task } from "../../board/task.ts";
import type { Git } from "./git.ts";
import { parseWorkspace } from "./parse-workspace.ts";
import { openRepository, type Repository } from "./repository.ts";
import { worktreePath } from "./worktree.ts";

export interface Locating {
  readonly git: Git;
  readonly files: BoardFiles;
  /** Null: none is named. */
  readonly repositoryNamed: (task: Task, path: string | null) => Promise<string | null>;
}

/** The repository when it cannot be opened; null when there is nothing. */
export async function locateWorkspace(task: Task, { git, files, repositoryNamed }: Locating): Promise<string | null> {
  const { kind, path } = parseWorkspace(task.workspace);
  if (kind !== "worktree") return await ifThere(path ?? files.workspace(task.board, task.id));
  const from = await repositoryNamed(task, path);
  if (from === null) return null;
  const repository: Repository | null = await openRepository(git, from).catch(() => null);
  return repository === null ? from : await ifThere(worktreePath(repository, task));
}

async function ifThere(path: string): Promise<string | null> {
  try {
    await lstat(path);
    return path;
  } catch (error) {
    return systemCode(error) === "ENOENT" ? null : path;
  }
}
