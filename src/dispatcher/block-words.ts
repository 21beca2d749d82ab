/** @module Why a task is blocked, as people say it, and what they can do about it. */
import { firstAndLastLine, firstLine } from "../base/first-line.ts";
import type { BlockKind } from "../board/schema.ts";

export interface BlockFacts {
  readonly by: string;
  readonly reason: string | null;
  readonly blockKind: BlockKind | null;
}

export function blockInWords({ by, reason, blockKind }: BlockFacts): string {
  return `by ${by}${blockKind === null ? "" : ` (${kindInWords(blockKind)})`}${causeInWords({ reason, blockKind })}`;
}

/** A worker that is started again without an answer, or without a mended cause, ends as before. */
export function blockFix(id: string, blockKind: BlockKind | null): string {
  const unblock = `holdfast kanban unblock ${id}`;
  if (blockKind === "needs_input") return `holdfast kanban comment ${id} TEXT, then ${unblock}`;
  return blockKind === "gave_up" ? `holdfast kanban log ${id}, then ${unblock}` : unblock;
}

export function kindInWords(kind: BlockKind): string {
  return kind === "gave_up" ? "given up" : kind;
}

/** With the colon before it. */
export function causeInWords({ reason, blockKind }: Pick<BlockFacts, "reason" | "blockKind">): string {
  if (reason === null) return "";
  return `: ${blockKind === "gave_up" ? firstAndLastLine(reason) : firstLine(reason)}`;
}
