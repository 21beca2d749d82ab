/** @module Why a task rests, as people say it. A guard of a plugin or another program keeps its own word. */
import type { GuardReason } from "./result.ts";

const WORDS: Readonly<Record<GuardReason, string>> = {
  retry_backoff: "it rests after a failure",
  rate_limit: "it rests after a rate limit",
  previous_worker: "its last worker is still ending",
  previous_worker_elsewhere: "its last worker is still ending on another machine",
};

export function guardInWords(reason: string): string {
  return Object.hasOwn(WORDS, reason) ? WORDS[reason as GuardReason] : reason;
}
