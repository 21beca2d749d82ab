/** @module Attaches a file to a task. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { attachFiles } from "../attach.ts";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { AttachmentShape, BoardInput, IdInput } from "../task-shapes.ts";

export const taskAttach = defineOperation({
  name: "task.attach",
  summary: "Attach a copy of a file to a task",
  input: z.strictObject({
    id: IdInput,
    board: BoardInput,
    path: z.string(),
    name: z.optional(z.string()),
    contentType: z.optional(z.string()),
  }),
  output: AttachmentShape,
  async run(app, { id, board, ...file }) {
    const task = await findTask(await app.kanban(), { id, board });
    const [attached] = await attachFiles(app, task, [file]);
    if (attached === undefined) throw new HoldfastError("internal", `nothing was attached to ${task.id}`);
    return attached;
  },
});
