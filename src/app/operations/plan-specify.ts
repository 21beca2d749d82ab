/** @module Lets a model say better what tasks of triage are about. */
import * as z from "zod/mini";
import { modelOf } from "../model-of.ts";
import { defineOperation } from "../operation.ts";
import { readText } from "../plans/answer.ts";
import { specifyQuestion } from "../plans/questions.ts";
import { chosenTasks, forEachTask } from "../plans/triage.ts";

const Specified = z.object({
  task: z.string(),
  title: z.optional(z.string()),
  body: z.optional(z.string()),
  status: z.optional(z.string()),
  /** Only with `all`: why it was left as it is. */
  error: z.optional(z.string()),
});

export type SpecifyResult = z.infer<typeof Specified>;

export const planSpecify = defineOperation({
  name: "plan.specify",
  summary: "Let a model write title and body of tasks of triage, which are tasks like any other from then on",
  input: z.strictObject({ id: z.optional(z.string()), all: z._default(z.boolean(), false), board: z.optional(z.string()) }),
  output: z.array(Specified),
  async run(app, { id, all, board }): Promise<SpecifyResult[]> {
    const { store, person } = await app.kanban();
    const by = person("specifying a task");
    const model = await modelOf(app);
    const tasks = await chosenTasks(app, { id, all, board });
    return await forEachTask(tasks, {
      all,
      work: async (task): Promise<SpecifyResult> => {
        const { title, body, status } = await store.specify(task.id, readText(await model.ask(specifyQuestion(task))), { by });
        return { task: task.id, title, body, status };
      },
    });
  },
});
