/** @module How long a task rests after a run that failed (K10, K21). */
import type { Release } from "../board/failures.ts";
import type { Task } from "../board/task.ts";
import type { GuardReason } from "./result.ts";
import type { DispatchSettings } from "./settings.ts";
import type { Verdict } from "./verdict.ts";

const JITTER = 0.2;

export interface Rest {
  readonly reason: GuardReason;
  readonly until: number;
}

export interface RestOptions {
  readonly task: Pick<Task, "failures" | "violations">;
  readonly settings: Pick<DispatchSettings, "backoffMs" | "backoffMaxMs" | "cooldownMs">;
  readonly now: number;
  /** At least 0 and less than 1. */
  readonly random: () => number;
}

/**
 * The same by what was decided about the run. One that nobody here has stopped was on a machine that shuts down, or its worker ends its own
 * supervisor, which must not go on for ever at once.
 */
export function restAfterVerdict(verdict: Pick<Verdict, "outcome">, outcome: Release, options: RestOptions): Rest | undefined {
  return restAfter(verdict.outcome === null && outcome === "reclaimed" ? "crashed" : outcome, options);
}

/** Undefined: it can be taken at once. */
export function restAfter(outcome: Release, { task, settings, now, random }: RestOptions): Rest | undefined {
  const rest = (reason: GuardReason, ms: number) => (ms > 0 ? { reason, until: now + Math.round(ms) } : undefined);
  switch (outcome) {
    case "rate_limited":
      return rest("rate_limit", settings.cooldownMs);
    case "crashed":
    case "timed_out":
    case "spawn_failed":
      return rest("retry_backoff", pause(task.failures, settings) * jitter(random));
    case "protocol_violation":
      return rest("retry_backoff", pause(task.violations, settings) * jitter(random));
    case "reclaimed":
    case "stale":
      return undefined;
  }
}

/** Doubles with each failure before this one. */
function pause(before: number, { backoffMs, backoffMaxMs }: RestOptions["settings"]): number {
  return Math.min(backoffMs * 2 ** before, Math.max(backoffMs, backoffMaxMs));
}

/** So that tasks which failed together are not all tried again together. */
function jitter(random: () => number): number {
  return 1 - JITTER + random() * 2 * JITTER;
}
