/** @module The steps that decide about open runs, in the contract's order (K13): the first one with something to say decides. */

import { exitOf } from "../board/exit.ts";
import type { Release } from "../board/failures.ts";
import type { OpenRun } from "../board/waiting.ts";
import { abandoned } from "./abandoned.ts";
import { crashed } from "./crashed.ts";
import { overtime } from "./overtime.ts";
import { reclaim } from "./reclaim.ts";
import type { DispatchResult } from "./result.ts";
import { stale } from "./stale.ts";
import type { RunFacts, Step, Verdict } from "./verdict.ts";

const STEPS: readonly Step[] = [reclaim, abandoned, stale, crashed, overtime];

export function judge(run: OpenRun, facts: RunFacts): Verdict | null {
  for (const step of STEPS) {
    const verdict = step(run, facts);
    if (verdict !== null) return verdict;
  }
  return null;
}

/**
 * Nobody here can end a worker on another machine. Its supervisor does when it cannot renew its claim, and after another time to live of
 * the claim it must have.
 */
export function mayEnd(run: OpenRun, { seen, time, settings }: RunFacts): boolean {
  return seen !== "elsewhere" || exitOf(run) !== null || time.since(run.expiresAt ?? run.startedAt) > settings.claimTtlMs;
}

export function bucketOf(
  outcome: Release,
  { reconciled = false }: Pick<Verdict, "reconciled">,
): keyof DispatchResult & (Release | "reconciled") {
  return reconciled ? "reconciled" : outcome;
}
