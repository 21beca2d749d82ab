/** @module Says who works on a task. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape } from "../task-shapes.ts";
import { taskReclaim } from "./task-reclaim.ts";

export const taskAssign = defineOperation({
  name: "task.assign",
  summary: "Give a task to a profile, or to nobody",
  input: z.strictObject({
    id: z.string(),
    board: BoardInput,
    assignee: z.nullable(z.string()),
    /** Takes it from whoever is working on it first. */
    reclaim: z.optional(z.boolean()),
    reason: z.optional(z.string()),
  }),
  output: TaskShape,
  async run(app, { id: wanted, board, assignee, reclaim = false, reason }) {
    const kanban = await app.kanban();
    const by = kanban.person("assigning a task");
    const { id, status } = await findTask(kanban, { id: wanted, board });
    if (reclaim && status === "running") return taskReclaim.run(app, { id, reason: reason ?? "reassigned", assignee });
    return kanban.store.assign(id, assignee, { by });
  },
});
