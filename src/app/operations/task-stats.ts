/** @module How a board is doing, in numbers. */
import * as z from "zod/mini";
import { OUTCOMES } from "../../board/schema.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, StatusShape, UsageShape } from "../task-shapes.ts";

export const taskStats = defineOperation({
  name: "task.stats",
  summary: "How a board is doing: how many tasks, whose, how runs ended, and what they have cost",
  input: z.strictObject({ board: BoardInput }),
  output: z.object({
    board: z.string(),
    counts: z.record(StatusShape, z.int()),
    /** Those of nobody (null) last. */
    assignees: z.readonly(z.array(z.object({ assignee: z.nullable(z.string()), counts: z.partialRecord(StatusShape, z.int()) }))),
    oldestReadyMs: z.nullable(z.int()),
    /** How runs ended; `open` are those that have not. */
    runs: z.record(z.enum([...OUTCOMES, "open"]), z.int()),
    usage: UsageShape,
    /** Who dispatches, if anybody. */
    dispatcher: z.nullable(z.string()),
  }),
  async run(app, { board: asked }) {
    const kanban = await app.kanban();
    kanban.person("the numbers of a board");
    const { slug: board } = await kanban.existingBoard(asked);
    const leader = await kanban.store.leader(board);
    const dispatcher = leader !== null && leader.expiresAt > app.clock.now() ? leader.holder : null;
    return { board, ...(await kanban.store.stats(board)), dispatcher };
  },
});
