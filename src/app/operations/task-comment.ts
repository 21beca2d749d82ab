/** @module Writes a comment on a task. Whoever writes cannot choose the name it stands under (K29). */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, CommentShape, IdInput } from "../task-shapes.ts";

export const taskComment = defineOperation({
  name: "task.comment",
  summary: "Comment on a task",
  input: z.strictObject({ id: IdInput, board: BoardInput, body: z.string() }),
  output: CommentShape,
  async run(app, { id, board, body }) {
    const kanban = await app.kanban();
    const task = await findTask(kanban, { id, board });
    return kanban.store.comment(task.id, body, kanban.author);
  },
});
