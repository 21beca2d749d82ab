/** @module What a list says of a task in a few words. */
import { formatDuration } from "../base/duration.ts";
import type { Task } from "../board/task.ts";
import { isFinished } from "../board/transitions.ts";
import { type BlockFacts, blockInWords, causeInWords, kindInWords } from "../dispatcher/block-words.ts";

/** As `why` says it, but who gives up, or sees that it is too late, is a dispatcher anyway. */
export function blockMark(facts: BlockFacts): string {
  const { blockKind } = facts;
  return blockKind === "gave_up" || blockKind === "deadline" ? kindInWords(blockKind) + causeInWords(facts) : blockInWords(facts);
}

/** How long it has been running, when it must be done, and whether it comes again; what is finished has none of it before it. */
export function timeMark(
  { status, deadline, repeat, runningSince }: Pick<Task, "status" | "deadline" | "repeat"> & { readonly runningSince: number | null },
  now: number,
): string {
  if (isFinished(status)) return "";
  const since = runningSince === null ? [] : [`for ${formatDuration(now - runningSince)}`];
  const due = deadline === null ? [] : [deadline <= now ? "overdue" : `due ${minuteOf(deadline)}`];
  return [...since, ...due, ...(repeat === null ? [] : ["repeats"])].join(", ");
}

/** `2026-11-20 18:00Z` */
export function minuteOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")}Z`;
}
