/** @module Makes a board. */
import * as z from "zod/mini";
import { BoardShape } from "../board-shapes.ts";
import { defineOperation } from "../operation.ts";
import { switchBoard } from "../switched-board.ts";

export const boardCreate = defineOperation({
  name: "board.create",
  summary: "Make a board",
  input: z.strictObject({
    slug: z.string(),
    name: z.optional(z.string()),
    description: z.optional(z.string()),
    icon: z.optional(z.string()),
    defaultWorkdir: z.optional(z.string()),
    /** It counts from now on. */
    switch: z._default(z.boolean(), false),
  }),
  output: BoardShape,
  async run(app, { slug, switch: switchTo, ...fields }) {
    const kanban = await app.kanban();
    const made = await kanban.store.createBoard(slug, { ...fields, by: kanban.person("making a board") });
    if (switchTo) await switchBoard(kanban, made);
    return made;
  },
});
