/** @module Blocks a task: it cannot go on without help, or nobody shall take it. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, IdInput, TaskShape } from "../task-shapes.ts";

/** `dependency`: another task comes first, which must be linked already. */
export const BLOCK_CHOICES = ["dependency", "needs_input", "capability", "transient"] as const;

export const taskBlock = defineOperation({
  name: "task.block",
  summary: "Block a task: it cannot go on without help",
  input: z.strictObject({ id: IdInput, board: BoardInput, reason: z.string(), kind: z.optional(z.enum(BLOCK_CHOICES)) }),
  output: TaskShape,
  async run(app, { id, board, reason, kind }) {
    const kanban = await app.kanban();
    const { id: task } = await findTask(kanban, { id, board });
    return kanban.store.block(task, { reason, kind }, kanban.actorFor(task));
  },
});
