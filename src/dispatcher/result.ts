/** @module What one pass of the dispatcher did, in buckets (K13). */
import type { Distrust } from "./trust.ts";

/** Why nobody starts the task before a time. The last two are no guards of the board: an earlier worker of the task may still live. */
export type GuardReason = "retry_backoff" | "rate_limit" | "previous_worker" | "previous_worker_elsewhere";

export type Cap = "max_in_progress" | "max_spawn" | "max";

/** Expected, not errors: such tasks wait for somebody who takes them. */
export type Unspawnable =
  | "no_profile"
  | "no_command"
  | "unreadable"
  | "not_in_dispatch_profiles"
  | "review_dispatch_off"
  | Distrust["reason"];

export interface DispatchResult {
  readonly reclaimed: string[];
  readonly reconciled: string[];
  readonly stale: string[];
  readonly crashed: string[];
  readonly rate_limited: string[];
  readonly protocol_violation: string[];
  readonly spawn_failed: string[];
  readonly timed_out: string[];
  /** Also in the bucket that says how their last run ended. */
  readonly auto_blocked: string[];
  /** Their run should be ended, but its worker is on another machine, which ends it. */
  readonly elsewhere: string[];
  readonly promoted: string[];
  readonly deadline_missed: string[];
  readonly auto_assigned_default: { readonly task: string; readonly assignee: string }[];
  readonly spawned: { readonly task: string; readonly assignee: string; readonly workspace: string }[];
  readonly skipped_unassigned: string[];
  readonly skipped_nonspawnable: { readonly task: string; readonly assignee: string; readonly reason: Unspawnable }[];
  readonly respawn_guarded: { readonly task: string; readonly reason: string; readonly until: number }[];
  readonly skipped_per_profile_capped: { readonly task: string; readonly assignee: string; readonly running: number }[];
  readonly skipped_capped: { readonly task: string; readonly cap: Cap; readonly running: number }[];
  /** The board has another leader, so the pass did nothing. */
  skipped_locked: boolean;
}

export function emptyResult(): DispatchResult {
  return {
    reclaimed: [],
    reconciled: [],
    stale: [],
    crashed: [],
    rate_limited: [],
    protocol_violation: [],
    spawn_failed: [],
    timed_out: [],
    auto_blocked: [],
    elsewhere: [],
    promoted: [],
    deadline_missed: [],
    auto_assigned_default: [],
    spawned: [],
    skipped_unassigned: [],
    skipped_nonspawnable: [],
    respawn_guarded: [],
    skipped_per_profile_capped: [],
    skipped_capped: [],
    skipped_locked: false,
  };
}
