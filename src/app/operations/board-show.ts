/** @module Shows one board. */
import * as z from "zod/mini";
import { CountsShape, ListedBoardShape } from "../board-shapes.ts";
import { defineOperation } from "../operation.ts";

export const boardShow = defineOperation({
  name: "board.show",
  summary: "Show a board: its tasks by status, what runs, and who dispatches",
  input: z.strictObject({ slug: z.optional(z.string()) }),
  output: z.extend(ListedBoardShape, {
    /** How many tasks run for each profile. */
    running: CountsShape,
    /** Null: nobody, so nothing on it is started. */
    dispatcher: z.nullable(z.object({ holder: z.string(), expiresAt: z.number() })),
    files: z.string(),
    database: z.string(),
  }),
  async run(app, { slug }) {
    const kanban = await app.kanban();
    const { store, files } = kanban;
    const board = await kanban.existingBoard(slug);
    const leader = await store.leader(board.slug);
    const alive = leader !== null && leader.expiresAt > app.clock.now();
    return {
      ...board,
      current: board.slug === kanban.board(),
      counts: await store.counts(board.slug),
      running: await store.running(board.slug),
      dispatcher: alive ? { holder: leader.holder, expiresAt: leader.expiresAt } : null,
      files: files.board(board.slug),
      database: store.location,
    };
  },
});
