/** @module The variables that tell a worker, and whatever speaks for it, who it is and where its board is (K28). */
import { DEFAULT_TASK } from "../base/names.ts";
import type { Environment } from "../config/environment.ts";
import { CONFIG_KEYS } from "../config/schema.ts";
import type { Job } from "../dispatcher/job.ts";

export const DATABASE_VARIABLE = CONFIG_KEYS.find(({ key }) => key === "kanban.database")?.variable ?? "";

/** For a person who does not know how to be one again. */
export const WAY_BACK =
  "if you claimed the task yourself and are finished with it, `unset HOLDFAST_TASK HOLDFAST_RUN_TOKEN HOLDFAST_BOARD`";

/** Only `claim` leaves HOLDFAST_RUN out: then it is a person. A worker is not told how to leave its role. */
export function isPersonWithClaim({ HOLDFAST_TASK: task, HOLDFAST_RUN_TOKEN: token, HOLDFAST_RUN: run }: Environment): boolean {
  return Boolean(task && token && !run);
}

export interface Identity extends Pick<Job, "home" | "profile" | "task" | "run" | "token" | "board"> {
  /** Null: it is where the configuration says. */
  readonly database: string | null;
}

export function identityVariables({ home, profile, task, run, token, board, database }: Identity): Record<string, string> {
  return {
    HOLDFAST_HOME: home,
    HOLDFAST_PROFILE: profile,
    HOLDFAST_TASK: task,
    HOLDFAST_RUN: String(run),
    HOLDFAST_RUN_TOKEN: token,
    HOLDFAST_BOARD: board,
    ...(database !== null && { [DATABASE_VARIABLE]: database }),
  };
}

/** Whose sandbox a worker runs in: that of its own task, or the one that all tasks of its profile share. */
export function sandboxTask({ sandbox, task }: Pick<Job, "sandbox" | "task">): string {
  return sandbox === "task" ? task : DEFAULT_TASK;
}
