/** @module Options of the board and its dispatcher. They count for all profiles, so they stand in the configuration of `default`. */
import * as z from "zod/mini";
import { option } from "../base/option.ts";
import { LOCATION, misreadLocation } from "../board/location.ts";

const LONGEST_SECONDS = 2_147_483;
const seconds = (least: number) => z.int().check(z.minimum(least), z.maximum(LONGEST_SECONDS));
/** Text, so that a bad one is named and ignored (K15) instead of stopping everything. */
const cap = z.nullable(z.string());
const CAP = "a whole number of at least 1; anything else is ignored with a warning";

export const kanbanOptions = {
  database: option(z.nullable(z.string().check(z.refine((location) => misreadLocation(location) === undefined))), {
    default: null,
    expected: LOCATION,
    hint: (input) => (typeof input === "string" ? misreadLocation(input) : undefined),
    help: "Where the boards are kept: a path, or the postgres:// URL of a database that several machines share; not set: kanban/board.db in the home of default",
  }),
  default_assignee: option(z.string(), { default: "", help: "Profile that gets ready tasks of nobody; empty = they wait" }),
  max_in_progress_per_profile: option(cap, { default: null, help: "Most tasks of one profile that run at once", expected: CAP }),
  max_in_progress: option(cap, { default: null, help: "Most tasks that run at once, on all boards together", expected: CAP }),
  max_spawn: option(cap, { default: null, help: "Most tasks that run at once on each board", expected: CAP }),
  failure_limit: option(cap, {
    default: "2",
    help: "Failed runs one after the other after which a task is blocked; max_retries of a task comes first",
    expected: CAP,
  }),
  dispatch_interval_seconds: option(seconds(1), {
    default: 60,
    help: "Seconds after which the dispatcher looks even if nothing woke it",
  }),
  dispatch_stale_timeout_seconds: option(seconds(0), {
    default: 14_400,
    help: "Seconds after which a run without a heartbeat for an hour is ended as stale; 0 = never",
  }),
  claim_ttl_seconds: option(seconds(10), { default: 900, help: "Seconds that a claim lasts without a heartbeat" }),
  worker_grace_seconds: option(seconds(0), { default: 5, help: "Seconds between TERM and KILL when a worker is ended" }),
  retry_backoff_seconds: option(seconds(0), {
    default: 10,
    help: "Seconds before a task is tried again after a failure; doubles with each one in a row, with some jitter; 0 = at once",
  }),
  retry_backoff_max_seconds: option(seconds(0), { default: 900, help: "Most seconds between two attempts" }),
  rate_limit_cooldown_seconds: option(seconds(0), {
    default: 300,
    help: "Seconds before a task is tried again whose worker met the limit of a provider (exit status 75)",
  }),
  worker_log_rotate_bytes: option(z.int().check(z.minimum(1024)), {
    default: 2 * 1024 * 1024,
    help: "Bytes of a task's log after which a new one is begun",
  }),
  worker_log_backup_count: option(z.int().check(z.minimum(0), z.maximum(100)), {
    default: 1,
    help: "Older logs of a task that are kept beside the current one",
  }),
  attach_max_files: option(z.int().check(z.minimum(0)), {
    default: 200,
    help: "Most files that the workers of one task may attach, artifacts included; 0 = no limit. What people attach does not count",
  }),
  attach_max_bytes: option(z.int().check(z.minimum(0)), {
    default: 1024 * 1024 * 1024,
    help: "Most bytes that these files may have together; 0 = no limit",
  }),
  review_dispatch: option(z.boolean(), { default: true, help: "Start workers for tasks that wait for a review, too" }),
  reconcile_orphans: option(z.boolean(), { default: true, help: "Put right tasks whose run and status do not fit together" }),
  dispatch_profiles: option(z.nullable(z.string()), {
    default: null,
    help: "Only these profiles get workers from this dispatcher: names with commas; empty = none; not set: all",
  }),
  orchestrator_profile: option(z.string(), { default: "", help: "Profile that owns a task which was split up; empty = default_assignee" }),
  auto_decompose: option(z.boolean(), { default: true, help: "Let the dispatcher split up tasks in triage, if a model is configured" }),
  auto_decompose_per_tick: option(z.int().check(z.minimum(1), z.maximum(100)), {
    default: 3,
    help: "Most tasks that are split up in one pass",
  }),
  auto_promote_children: option(z.boolean(), {
    default: true,
    help: "Let the parts of a task that was split up go on by themselves; otherwise they wait in triage",
  }),
  dispatch_in_gateway: option(z.boolean(), { default: true, help: "Run the dispatcher in the gateway; without gateways it has no effect" }),
  notify_in_gateway: option(z.boolean(), { default: true, help: "Tell chats of their tasks; without gateways it has no effect" }),
  auto_subscribe_on_create: option(z.boolean(), {
    default: true,
    help: "A chat hears of the tasks that it made; without gateways it has no effect",
  }),
  done_sub_retention_days: option(z.int().check(z.minimum(0)), {
    default: 30,
    help: "Days after which a chat no longer hears of a finished task; without gateways it has no effect",
  }),
};
