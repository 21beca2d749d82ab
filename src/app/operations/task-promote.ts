/** @module Lets a task go on that waits in triage, or in todo with nothing left to wait for. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape } from "../task-shapes.ts";

export const taskPromote = defineOperation({
  name: "task.promote",
  summary: "Let a task go on: out of triage, or out of todo when its parents are finished",
  input: z.strictObject({ id: z.string(), board: BoardInput }),
  output: TaskShape,
  async run(app, { id, board }) {
    const kanban = await app.kanban();
    const by = kanban.person("promoting a task");
    const task = await findTask(kanban, { id, board });
    return kanban.store.promote(task.id, { by });
  },
});
