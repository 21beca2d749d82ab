/** @module Claims of a dispatcher that died before it had started a worker. */
import type { Step } from "./verdict.ts";

/** A supervisor that has not been recorded was not told to begin, and with a revoked claim it never will be. */
export const abandoned: Step = (run, { seen }) =>
  run.worker === null && seen === "gone"
    ? { outcome: "reclaimed", error: "its dispatcher went away before a worker ran", reconciled: true }
    : null;
