/** @module Makes a task, and says when nothing would pick it up (K34). */
import * as z from "zod/mini";
import { checkHandOver } from "../hand-over.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape, WhyShape } from "../task-shapes.ts";
import { createExplainer } from "../task-why.ts";

const Text = z.optional(z.string());

export const taskCreate = defineOperation({
  name: "task.create",
  summary: "Make a task",
  input: z.strictObject({
    board: BoardInput,
    title: z.string(),
    body: Text,
    assignee: Text,
    parents: z.optional(z.array(z.string())),
    priority: z.optional(z.int()),
    tenant: Text,
    workspace: Text,
    branch: Text,
    maxRuntimeMs: z.optional(z.int()),
    maxRetries: z.optional(z.int()),
    skills: z.optional(z.array(z.string())),
    model: Text,
    deadline: z.optional(z.int()),
    repeat: Text,
    timeZone: Text,
    idempotencyKey: Text,
    triage: z.optional(z.boolean()),
    /** Why it is blocked from the beginning. */
    blocked: Text,
    /** Not before then. */
    scheduledFor: z.optional(z.int()),
  }),
  output: z.object({
    task: TaskShape,
    /** False when the idempotency key was known. */
    created: z.boolean(),
    /** Why nobody would take it. */
    warnings: z.array(WhyShape),
  }),
  async run(app, { board, triage, blocked, scheduledFor, ...fields }) {
    const kanban = await app.kanban();
    const chosen = kanban.board(board);
    const initial = triage ? "triage" : blocked !== undefined ? "blocked" : scheduledFor !== undefined ? "scheduled" : undefined;
    await checkHandOver(app, kanban, { to: fields.assignee, what: "a task" });
    const made = await kanban.store.createTask(
      { ...fields, board: chosen, initial, scheduledFor: initial === "scheduled" ? scheduledFor : undefined, reason: blocked },
      kanban.author,
    );
    // A worker cannot do anything about them, and what is put aside is not meant to be picked up.
    const silent = kanban.worker !== null || !made.created || initial === "triage" || initial === "blocked";
    const warnings = silent ? [] : await (await createExplainer(app)).pickup(made.task);
    return { ...made, warnings };
  },
});
