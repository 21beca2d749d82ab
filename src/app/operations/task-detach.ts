/** @module Removes an attachment of a task with its file. */
import * as z from "zod/mini";
import { removeAttachedFile } from "../attach.ts";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { AttachmentShape, BoardInput } from "../task-shapes.ts";

export const taskDetach = defineOperation({
  name: "task.detach",
  summary: "Remove an attachment of a task with its file, for ever",
  input: z.strictObject({ attachment: z.int(), board: BoardInput }),
  output: z.object({
    removed: AttachmentShape,
    /** What of it could not be removed. */
    kept: z.readonly(z.array(z.object({ path: z.string(), why: z.string() }))),
  }),
  async run(app, { attachment, board: asked }) {
    const kanban = await app.kanban();
    const removed = await kanban.store.getAttachment(attachment);
    const { id: task, board } = await findTask(kanban, { id: removed.task, board: asked });
    await kanban.store.removeAttachment(attachment, kanban.actorFor(task));
    return { removed, kept: await removeAttachedFile(kanban, { board, task, path: removed.path }) };
  },
});
