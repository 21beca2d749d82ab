/** @module How the worker of a run has ended, for those who show runs. */
import { exitOf } from "../board/exit.ts";
import type { Run } from "../board/runs.ts";
import { exitInWords } from "../dispatcher/run-trouble.ts";

/** In words; null while it is not known to have ended. */
export function workerEnd(run: Pick<Run, "worker">): string | null {
  const exit = exitOf(run);
  return exit === null ? null : exitInWords(exit);
}
