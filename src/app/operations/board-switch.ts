/** @module Chooses the board that counts from now on. */
import * as z from "zod/mini";
import { BoardShape } from "../board-shapes.ts";
import { defineOperation } from "../operation.ts";
import { switchBoard } from "../switched-board.ts";

export const boardSwitch = defineOperation({
  name: "board.switch",
  summary: "Choose the board that counts from now on",
  input: z.strictObject({ slug: z.string() }),
  /** `current` is false where HOLDFAST_KANBAN_BOARD comes first. */
  output: z.extend(BoardShape, { current: z.boolean() }),
  async run(app, { slug }) {
    const kanban = await app.kanban();
    kanban.person("switching boards");
    // By its name alone: what counts now may be the very thing that is being put right.
    const board = await kanban.store.getBoard(slug);
    await switchBoard(kanban, board);
    const variable = app.environment.HOLDFAST_KANBAN_BOARD?.trim().toLowerCase() || board.slug;
    return { ...board, current: variable === board.slug };
  },
});
