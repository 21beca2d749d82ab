/** @module The variables that tell a worker, and whatever speaks for it, who it is and where its board is (K28). */
import { CONFIG_KEYS } from "../config/schema.ts";
import type { Job } from "../dispatcher/job.ts";

export const DATABASE_VARIABLE = CONFIG_KEYS.find(({ key }) => key === "kanban.database")?.variable ?? "";

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
