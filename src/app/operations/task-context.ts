/** @module Gives the text from which a worker learns all about its task. */
import * as z from "zod/mini";
import { isFinished } from "../../board/transitions.ts";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { taskContext as contextText } from "../task-context.ts";
import { BoardInput, IdInput } from "../task-shapes.ts";

export const taskContext = defineOperation({
  name: "task.context",
  summary: "Everything a worker should know about a task, as one text",
  input: z.strictObject({ id: IdInput, board: BoardInput }),
  output: z.object({ task: z.string(), text: z.string() }),
  async run(app, wanted) {
    const kanban = await app.kanban();
    const { store, worker } = kanban;
    const task = await findTask(kanban, wanted);
    const finished = (await store.parents(task.id)).filter(({ status }) => isFinished(status));
    const parents = await Promise.all(
      finished.map(async (parent) => {
        const completed = (await store.runs({ task: parent.id })).filter(({ outcome }) => outcome === "completed");
        return { task: parent, run: completed.at(-1) ?? null, attachments: await store.attachments(parent.id) };
      }),
    );
    const text = contextText({
      task,
      workspace: worker?.task === task.id ? (app.environment.HOLDFAST_WORKSPACE ?? null) : null,
      attachments: await store.attachments(task.id),
      runs: await store.runs({ task: task.id }),
      parents,
      comments: await store.comments(task.id),
      now: app.clock.now(),
    });
    return { task: task.id, text };
  },
});
