/** @module Asks for a review of what was done. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { checkHandOver } from "../hand-over.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, IdInput, TaskShape } from "../task-shapes.ts";

export const taskRequestReview = defineOperation({
  name: "task.request-review",
  summary: "Ask for a review: whoever takes the task next reviews it",
  input: z.strictObject({
    id: IdInput,
    board: BoardInput,
    summary: z.optional(z.string()),
    reviewer: z.optional(z.string()),
    metadata: z.optional(z.record(z.string(), z.unknown())),
    cost: z.optional(z.number()),
    tokens: z.optional(z.int()),
  }),
  output: TaskShape,
  async run(app, { id, board, ...options }) {
    const kanban = await app.kanban();
    const { id: task, assignee } = await findTask(kanban, { id, board });
    await checkHandOver(app, kanban, { to: options.reviewer ?? assignee, what: "a review" });
    return kanban.store.requestReview(task, options, kanban.actorFor(task));
  },
});
