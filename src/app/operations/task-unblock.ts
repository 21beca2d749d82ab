/** @module Lets a task go on that was blocked, or wakes one that was scheduled. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape } from "../task-shapes.ts";

export const taskUnblock = defineOperation({
  name: "task.unblock",
  summary: "Let a blocked task go on, or wake a scheduled one",
  input: z.strictObject({ id: z.string(), board: BoardInput, reason: z.optional(z.string()) }),
  output: TaskShape,
  async run(app, { id, board, reason }) {
    const kanban = await app.kanban();
    const by = kanban.person("unblocking a task");
    const task = await findTask(kanban, { id, board });
    return kanban.store.unblock(task.id, { by, reason });
  },
});
