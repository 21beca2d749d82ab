/** @module Ends a review that found something: whoever did the work goes on with it. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { checkHandOver } from "../hand-over.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, IdInput, TaskShape } from "../task-shapes.ts";

export const taskRequestChanges = defineOperation({
  name: "task.request-changes",
  summary: "End a review: whoever did the work goes on with it",
  input: z.strictObject({ id: IdInput, board: BoardInput, reason: z.string() }),
  output: TaskShape,
  async run(app, { id, board, reason }) {
    const kanban = await app.kanban();
    const { id: task, implementer, assignee } = await findTask(kanban, { id, board });
    await checkHandOver(app, kanban, { to: implementer ?? assignee, what: "a change" });
    return kanban.store.requestChanges(task, { reason }, kanban.actorFor(task));
  },
});
