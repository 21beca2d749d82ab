/** @module Changes what a task says. */
import * as z from "zod/mini";
import type { TaskFields } from "../../board/task-input.ts";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape } from "../task-shapes.ts";

const Text = z.optional(z.nullable(z.string()));
const Whole = z.optional(z.nullable(z.int()));

export const taskEdit = defineOperation({
  name: "task.edit",
  summary: "Change what a task says; only the fields that are given",
  input: z.strictObject({
    id: z.string(),
    board: BoardInput,
    title: z.optional(z.string()),
    body: z.optional(z.string()),
    priority: z.optional(z.int()),
    tenant: Text,
    workspace: z.optional(z.string()),
    branch: Text,
    maxRuntimeMs: Whole,
    maxRetries: Whole,
    skills: z.optional(z.nullable(z.array(z.string()))),
    model: Text,
    deadline: Whole,
    repeat: Text,
    timeZone: Text,
  }),
  output: TaskShape,
  async run(app, { id, board, ...given }) {
    const kanban = await app.kanban();
    // What was left out must not be there at all.
    const fields: Partial<TaskFields> = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const by = kanban.person("editing a task");
    return kanban.store.editTask((await findTask(kanban, { id, board })).id, fields, { by });
  },
});
