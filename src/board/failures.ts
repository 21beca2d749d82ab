/** @module How a run that was taken from its worker counts, and when the board gives up on a task (K20). */

/** Why a run ended without its worker saying so. */
export const RELEASES = ["reclaimed", "crashed", "timed_out", "stale", "rate_limited", "spawn_failed", "protocol_violation"] as const;
export type Release = (typeof RELEASES)[number];

export const DEFAULT_FAILURE_LIMIT = 2;
export const VIOLATION_LIMIT = 3;

/** Both only count what came one after the other: a run that ends with a word of its worker sets them to zero. */
export interface Streaks {
  readonly failures: number;
  readonly violations: number;
}

export interface FailureRules {
  /** The configured limit. @default 2 */
  readonly failureLimit?: number | undefined;
  /** The task's own limit, which comes first. */
  readonly maxRetries: number | null;
}

/** A worker that ends well but says nothing is no failure of its surroundings, so it has a limit of its own. */
export function countRelease(
  release: Release,
  { failures, violations }: Streaks,
  { failureLimit = DEFAULT_FAILURE_LIMIT, maxRetries }: FailureRules,
): Streaks & { readonly giveUp: boolean } {
  const limit = Math.max(1, maxRetries ?? failureLimit);
  switch (release) {
    case "crashed":
    case "timed_out":
    case "spawn_failed":
      return { failures: failures + 1, violations, giveUp: failures + 1 >= limit };
    case "protocol_violation":
      return { failures, violations: violations + 1, giveUp: violations + 1 >= (maxRetries === null ? VIOLATION_LIMIT : limit) };
    case "reclaimed":
    case "stale":
    case "rate_limited":
      return { failures, violations, giveUp: false };
  }
}
