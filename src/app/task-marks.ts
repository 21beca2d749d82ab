/** @module What a list says of a task in a few words. */
import type { Task } from "../board/task.ts";
import { isFinished } from "../board/transitions.ts";
import { type BlockFacts, blockInWords, causeInWords, kindInWords } from "../dispatcher/block-words.ts";

/** As `why` says it, but who gives up, or sees that it is too late, is a dispatcher anyway. */
export function blockMark(facts: BlockFacts): string {
  const { blockKind } = facts;
  return blockKind === "gave_up" || blockKind === "deadline" ? kindInWords(blockKind) + causeInWords(facts) : blockInWords(facts);
}

/** When it must be done, and whether it comes again; what is finished has neither before it. */
export function timeMark({ status, deadline, repeat }: Pick<Task, "status" | "deadline" | "repeat">, now: number): string {
  if (isFinished(status)) return "";
  const due = deadline === null ? [] : [deadline <= now ? "overdue" : `due ${new Date(deadline).toISOString().slice(0, 10)}`];
  return [...due, ...(repeat === null ? [] : ["repeats"])].join(", ");
}
