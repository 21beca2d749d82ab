/** @module Puts a board out of sight. */
import * as z from "zod/mini";
import { BoardShape } from "../board-shapes.ts";
import { defineOperation } from "../operation.ts";
import { unswitchBoard } from "../switched-board.ts";

export const boardArchive = defineOperation({
  name: "board.archive",
  summary: "Put a board out of sight: nothing new is made on it",
  input: z.strictObject({ slug: z.string() }),
  /** `switchedBack`: it was the switched one, so `default` counts again. */
  output: z.object({ board: BoardShape, switchedBack: z.boolean() }),
  async run(app, { slug }) {
    const kanban = await app.kanban();
    const board = await kanban.store.archiveBoard(slug, { by: kanban.person("archiving a board") });
    return { board, switchedBack: await unswitchBoard(kanban, board.slug) };
  },
});
