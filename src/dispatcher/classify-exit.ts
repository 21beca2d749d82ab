/** @module What the end of a worker means for its run (K20). */

import type { WorkerExit } from "../board/exit.ts";
import type { Release } from "../board/failures.ts";

/** EX_TEMPFAIL: the worker met the limit of a provider. */
const RATE_LIMITED = 75;
const SILENT = "the worker ended well, but without completing or blocking the task or asking for a review";

export interface ExitVerdict {
  readonly outcome: Release;
  readonly error: string | undefined;
  /** The last lines of the log may say more. */
  readonly log: boolean;
}

/** Null: its supervisor is gone and said nothing. */
export function classifyExit(exit: WorkerExit | null): ExitVerdict {
  if (exit === null) return { outcome: "crashed", error: "the worker and its supervisor are gone without a report", log: true };
  const { code, signal, reason, error } = exit;
  switch (reason) {
    case "timed_out":
      return { outcome: "timed_out", error: error ?? "the worker ran longer than it may", log: false };
    case "start_failed":
      return { outcome: "spawn_failed", error: error ?? "the worker could not be started", log: false };
    case "claim_lost":
      return { outcome: "reclaimed", error, log: false };
    case "stopped":
      return { outcome: "reclaimed", error: error ?? "its supervisor was told to stop", log: false };
    case "exited":
      if (code === RATE_LIMITED) return { outcome: "rate_limited", error: "the worker met a limit (exit status 75)", log: false };
      if (code === 0) return { outcome: "protocol_violation", error: SILENT, log: true };
      return { outcome: "crashed", error: error ?? died(code, signal), log: true };
  }
}

function died(code: number | null, signal: string | null): string {
  return code === null ? `the worker was ended by ${signal ?? "a signal"}` : `the worker ended with exit status ${code}`;
}
