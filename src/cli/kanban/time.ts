/** @module Times on the command line. */
import type { Clock } from "../../base/clock.ts";
import { formatDuration, parseDuration } from "../../base/duration.ts";
import { HoldfastError } from "../../base/errors.ts";
import { asUsage } from "../usage.ts";

export const TIME_RULE = "a time like 2026-12-24T18:00, or with a zone: 2026-12-24T18:00Z";

/** Without a zone it is the caller's own. @throws `usage` */
export function parseTime(flag: string, text: string): number {
  const time = /^\d{4}-\d{2}-\d{2}/.test(text.trim()) ? new Date(text.trim()).getTime() : Number.NaN;
  if (Number.isFinite(time) && time >= 0) return time;
  throw new HoldfastError("usage", `${flag} is not a time: ${JSON.stringify(text.slice(0, 40))}`, { hint: `write ${TIME_RULE}` });
}

/** In milliseconds. @throws `usage` */
export function parseLength(flag: string, text: string): number {
  try {
    return parseDuration(flag, text);
  } catch (error) {
    throw HoldfastError.isInstance(error) ? asUsage(error) : error;
  }
}

/** What `--at` or `--in` say; undefined when neither was given. */
export function startTime({ at, in: after }: { at?: string; in?: string }, clock: Clock): number | undefined {
  if (at !== undefined && after !== undefined)
    throw new HoldfastError("usage", "--at and --in cannot be given together", { hint: "leave one of them out" });
  if (at !== undefined) return parseTime("--at", at);
  return after === undefined ? undefined : clock.now() + parseLength("--in", after);
}

export function ago(at: number, now: number): string {
  return at > now ? `in ${formatDuration(at - now)}` : `${formatDuration(now - at)} ago`;
}

export function shown(at: number): string {
  return new Date(at).toISOString();
}
