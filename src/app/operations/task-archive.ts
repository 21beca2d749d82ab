/** @module Puts a task out of sight; what waited for it goes on. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape } from "../task-shapes.ts";

export const taskArchive = defineOperation({
  name: "task.archive",
  summary: "Put a task out of sight; what waited for it goes on",
  input: z.strictObject({ id: z.string(), board: BoardInput }),
  output: TaskShape,
  async run(app, { id, board }) {
    const kanban = await app.kanban();
    const by = kanban.person("archiving a task");
    const task = await findTask(kanban, { id, board });
    return kanban.store.archive(task.id, { by });
  },
});
