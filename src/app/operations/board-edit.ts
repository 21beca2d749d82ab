/** @module Changes what a board is called and what it says about itself. */
import * as z from "zod/mini";
import { BoardShape } from "../board-shapes.ts";
import { defineOperation } from "../operation.ts";

export const boardEdit = defineOperation({
  name: "board.edit",
  summary: "Change the name, description, icon or directory of a board; its slug stays",
  input: z.strictObject({
    slug: z.string(),
    name: z.optional(z.string()),
    description: z.optional(z.string()),
    icon: z.optional(z.string()),
    /** Null: none. */
    defaultWorkdir: z.optional(z.nullable(z.string())),
  }),
  output: BoardShape,
  async run(app, { slug, ...fields }) {
    const kanban = await app.kanban();
    const by = kanban.person("editing a board");
    return await kanban.store.editBoard(slug, { ...fields, by });
  },
});
