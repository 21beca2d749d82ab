/** @module How the process of a worker ended. */
import type { Run } from "./runs.ts";

export interface WorkerExit {
  /** null when a signal ended it, or when it never began. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly reason: "exited" | "timed_out" | "start_failed" | "claim_lost" | "stopped";
  readonly error?: string | undefined;
}

/** null while it is not known to have ended. */
export function exitOf({ worker }: Pick<Run, "worker">): WorkerExit | null {
  return (worker?.exit as WorkerExit | undefined) ?? null;
}
