/** @module Shows a task with everything around it. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import {
  AttachmentShape,
  BoardInput,
  CommentShape,
  EventShape,
  IdInput,
  RunShape,
  TaskNameShape,
  TaskShape,
  UsageShape,
  WhyShape,
} from "../task-shapes.ts";
import { createExplainer } from "../task-why.ts";

const RUNS = 10;
const EVENTS = 20;

export const taskShow = defineOperation({
  name: "task.show",
  summary: "Show a task: what it is, why it does not run, what came before and after it, and what was said and done",
  input: z.strictObject({ id: IdInput, board: BoardInput }),
  output: z.object({
    task: TaskShape,
    why: z.array(WhyShape),
    parents: z.array(TaskNameShape),
    children: z.array(TaskNameShape),
    /** The last ones, oldest first. */
    runs: z.array(RunShape),
    comments: z.array(CommentShape),
    attachments: z.array(AttachmentShape),
    /** The last ones, oldest first. */
    events: z.array(EventShape),
    usage: UsageShape,
  }),
  async run(app, wanted) {
    const kanban = await app.kanban();
    const { store } = kanban;
    const task = await findTask(kanban, wanted);
    const { id } = task;
    return {
      task,
      why: await (await createExplainer(app)).why(task),
      parents: (await store.parents(id)).map(named),
      children: (await store.children(id)).map(named),
      runs: (await store.runs({ task: id })).slice(-RUNS),
      comments: await store.comments(id),
      attachments: await store.attachments(id),
      events: (await store.events({ task: id, limit: Number.MAX_SAFE_INTEGER })).slice(-EVENTS),
      usage: await store.usage({ task: id }),
    };
  },
});

function named<Named extends z.infer<typeof TaskNameShape>>({ id, title, status }: Named) {
  return { id, title, status };
}
