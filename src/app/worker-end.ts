/** @module How the worker of a run has ended, and what its sandbox was like, for those who show runs. */
import { driftInWords, driftOf } from "../board/drift.ts";
import { exitOf } from "../board/exit.ts";
import type { Run } from "../board/runs.ts";
import { exitInWords } from "../dispatcher/run-trouble.ts";

/** In words; null while it is not known to have ended. */
export function workerEnd(run: Pick<Run, "worker">): string | null {
  const exit = exitOf(run);
  return exit === null ? null : exitInWords(exit);
}

/** In words; null where its sandbox had all settings of its profile. */
export function sandboxDrift(run: Pick<Run, "worker">): string | null {
  const drift = driftOf(run);
  return drift === null ? null : driftInWords(drift);
}
