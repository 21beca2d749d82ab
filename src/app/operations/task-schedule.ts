/** @module Puts a task off until a time. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape } from "../task-shapes.ts";

export const taskSchedule = defineOperation({
  name: "task.schedule",
  summary: "Put a task off until a time; then it wakes by itself",
  input: z.strictObject({ id: z.string(), board: BoardInput, time: z.int(), reason: z.optional(z.string()) }),
  output: TaskShape,
  async run(app, { id, board, time, reason }) {
    const kanban = await app.kanban();
    const by = kanban.person("scheduling a task");
    const task = await findTask(kanban, { id, board });
    return kanban.store.schedule(task.id, time, { by, reason });
  },
});
