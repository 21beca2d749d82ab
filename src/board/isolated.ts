/** @module Whether a run speaks from a sandbox with files of its own, by what its dispatcher wrote down before it began. */
import type { Run } from "./runs.ts";

export function isIsolated(worker: Run["worker"]): boolean {
  return worker?.isolated === true;
}
