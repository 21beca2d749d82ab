/** @module The seam to workspaces: where the files of a task's work are. */
import type { Task } from "../board/task.ts";

export interface Workspace {
  readonly kind: "scratch" | "dir" | "worktree";
  /** Absolute. */
  readonly path: string;
  readonly branch: string | null;
}

export interface Workspaces {
  /** Made if it is not there. @throws with the reason, which counts as a failure to start (K20) */
  prepare(task: Task): Promise<Workspace>;
  /** Removes what may go now that the task is finished (K30); says what was kept and why. */
  settle(task: Task): Promise<{ readonly removed: boolean; readonly kept: string | null }>;
}
