/** @module Takes up a task again that was not finished after all. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape } from "../task-shapes.ts";

export const taskReopen = defineOperation({
  name: "task.reopen",
  summary: "Take up a task again that is done or archived; what waits for it waits again",
  input: z.strictObject({ id: z.string(), board: BoardInput, reason: z.optional(z.string()) }),
  output: TaskShape,
  async run(app, { id, board, reason }) {
    const kanban = await app.kanban();
    const by = kanban.person("reopening a task");
    const task = await findTask(kanban, { id, board });
    return kanban.store.reopen(task.id, { by, reason });
  },
});
