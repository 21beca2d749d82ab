/** @module The dispatcher's settings: bad caps are named and ignored, as the contract wants (K15, K26). */
import type { OptionValues } from "../base/option.ts";
import { DEFAULT_FAILURE_LIMIT } from "../board/failures.ts";
import type { kanbanOptions } from "./options.ts";

export type KanbanValues = OptionValues<typeof kanbanOptions>;

export interface DispatchSettings {
  /** Null: tasks of nobody wait. */
  readonly defaultAssignee: string | null;
  readonly maxPerProfile: number | null;
  readonly maxInProgress: number | null;
  readonly maxSpawn: number | null;
  readonly failureLimit: number;
  readonly intervalMs: number;
  /** 0: never. */
  readonly staleMs: number;
  readonly claimTtlMs: number;
  readonly graceMs: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  readonly cooldownMs: number;
  readonly log: { readonly rotateBytes: number; readonly backups: number };
  readonly reviews: boolean;
  readonly reconcile: boolean;
  /** Null: all. */
  readonly profiles: readonly string[] | null;
}

export interface ReadSettings {
  readonly settings: DispatchSettings;
  readonly warnings: readonly string[];
}

/** Each with what counts in place of one that is none. */
const CAPS = {
  max_in_progress_per_profile: "no cap",
  max_in_progress: "no cap",
  max_spawn: "no cap",
  failure_limit: `${DEFAULT_FAILURE_LIMIT} is used`,
};

/** Null for a cap that can be used, or is not set, and for other keys. */
export function capWarning(key: string, value: unknown): string | null {
  const text = capText(value);
  if (!Object.hasOwn(CAPS, key) || text === "") return null;
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text)) && Number(text) > 0) return null;
  return `kanban.${key} is ${JSON.stringify(text.slice(0, 40))}, not a whole number of at least 1: ${CAPS[key as keyof typeof CAPS]}`;
}

function capText(value: unknown): string {
  return String(value ?? "").trim();
}

export function readSettings(values: KanbanValues): ReadSettings {
  const warnings: string[] = [];
  const cap = (key: keyof typeof CAPS): number | null => {
    const warning = capWarning(key, values[key]);
    if (warning !== null) warnings.push(warning);
    return warning === null && capText(values[key]) !== "" ? Number(values[key]) : null;
  };
  const seconds = (value: number) => value * 1000;
  const settings: DispatchSettings = {
    defaultAssignee: values.default_assignee.trim().toLowerCase() || null,
    maxPerProfile: cap("max_in_progress_per_profile"),
    maxInProgress: cap("max_in_progress"),
    maxSpawn: cap("max_spawn"),
    failureLimit: cap("failure_limit") ?? DEFAULT_FAILURE_LIMIT,
    intervalMs: seconds(values.dispatch_interval_seconds),
    staleMs: seconds(values.dispatch_stale_timeout_seconds),
    claimTtlMs: seconds(values.claim_ttl_seconds),
    graceMs: seconds(values.worker_grace_seconds),
    backoffMs: seconds(values.retry_backoff_seconds),
    backoffMaxMs: seconds(values.retry_backoff_max_seconds),
    cooldownMs: seconds(values.rate_limit_cooldown_seconds),
    log: { rotateBytes: values.worker_log_rotate_bytes, backups: values.worker_log_backup_count },
    reviews: values.review_dispatch,
    reconcile: values.reconcile_orphans,
    profiles: values.dispatch_profiles === null ? null : names(values.dispatch_profiles),
  };
  return { settings, warnings };
}

/** Tasks would be swallowed by a profile that does not exist, so they stay with nobody (K26). */
export function unknownDefaultAssignee(name: string): string {
  return `kanban.default_assignee is ${JSON.stringify(name)}, but there is no such profile: tasks of nobody wait`;
}

function names(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
}
