/** @module Splits tasks of triage up by a model. */
import * as z from "zod/mini";
import { modelOf } from "../model-of.ts";
import { defineOperation } from "../operation.ts";
import { createPlanner } from "../plans/decompose.ts";
import { chosenTasks, forEachTask } from "../plans/triage.ts";

const Part = z.object({
  title: z.string(),
  body: z.string(),
  assignee: z.nullable(z.string()),
  /** Indexes of parts that come before. */
  after: z.readonly(z.array(z.int())),
});

const Decomposed = z.object({
  task: z.string(),
  /** Set when it stays one task, with a better text. */
  single: z.optional(z.nullable(z.object({ title: z.string(), body: z.string() }))),
  rationale: z.optional(z.string()),
  tasks: z.optional(z.readonly(z.array(Part))),
  warnings: z.optional(z.readonly(z.array(z.string()))),
  /** The ids of its parts; nothing in a dry run. */
  children: z.optional(z.array(z.string())),
  /** Only with `all`: why it was left as it is. */
  error: z.optional(z.string()),
});

export type DecomposeResult = z.infer<typeof Decomposed>;

export const planDecompose = defineOperation({
  name: "plan.decompose",
  summary: "Let a model split tasks of triage into linked tasks, once and as a whole",
  input: z.strictObject({
    id: z.optional(z.string()),
    all: z._default(z.boolean(), false),
    board: z.optional(z.string()),
    /** The model is asked, and nothing is changed. */
    dryRun: z._default(z.boolean(), false),
  }),
  output: z.array(Decomposed),
  async run(app, { id, all, board, dryRun }): Promise<DecomposeResult[]> {
    const kanban = await app.kanban();
    const by = kanban.person("decomposing a task");
    const planner = await createPlanner(app, await modelOf(app), by);
    const tasks = await chosenTasks(app, { id, all, board });
    return await forEachTask(tasks, {
      all,
      work: async (task): Promise<DecomposeResult> => {
        const plan = await planner.plan(task);
        return { task: task.id, ...plan, children: dryRun ? [] : await planner.carryOut(task, plan) };
      },
    });
  },
});
