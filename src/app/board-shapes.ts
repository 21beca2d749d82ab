/** @module Boards as operations give them out. */
import * as z from "zod/mini";

export const BoardShape = z.object({
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  icon: z.string(),
  defaultWorkdir: z.nullable(z.string()),
  createdAt: z.number(),
  archivedAt: z.nullable(z.number()),
});

/** How many tasks are in each status. */
export const CountsShape = z.record(z.string(), z.number());

export const ListedBoardShape = z.extend(BoardShape, {
  /** It is the one that counts when none is named. */
  current: z.boolean(),
  counts: CountsShape,
});

export type ListedBoard = z.infer<typeof ListedBoardShape>;
