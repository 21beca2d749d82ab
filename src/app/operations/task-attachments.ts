/** @module Lists the attachments of a task. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { AttachmentShape, BoardInput, IdInput } from "../task-shapes.ts";

export const taskAttachments = defineOperation({
  name: "task.attachments",
  summary: "List the attachments of a task, with where their files are",
  input: z.strictObject({ id: IdInput, board: BoardInput }),
  output: z.array(AttachmentShape),
  async run(app, wanted) {
    const kanban = await app.kanban();
    return kanban.store.attachments((await findTask(kanban, wanted)).id);
  },
});
