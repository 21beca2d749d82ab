/** @module Lists the runs of a task. */
import * as z from "zod/mini";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, IdInput, RunShape } from "../task-shapes.ts";

export const taskRuns = defineOperation({
  name: "task.runs",
  summary: "List the runs of a task, oldest first",
  input: z.strictObject({ id: IdInput, board: BoardInput }),
  output: z.array(RunShape),
  async run(app, wanted) {
    const kanban = await app.kanban();
    return kanban.store.runs({ task: (await findTask(kanban, wanted)).id });
  },
});
