/** @module Lists the background processes in the sandbox of a task. */
import * as z from "zod/mini";
import { processesOf } from "../find-process.ts";
import { defineOperation } from "../operation.ts";
import { ProcessInfoShape } from "../process-shapes.ts";
import { existingSandbox } from "../sandbox-of-task.ts";
import { TaskInput } from "../schemas.ts";

export const processList = defineOperation({
  name: "process.list",
  summary: "List the background processes in the sandbox of a task, oldest first",
  input: z.strictObject({ task: TaskInput }),
  output: z.readonly(z.array(ProcessInfoShape)),
  async run(app, { task }) {
    // In one that is stopped there are none, and asking would start it.
    if ((await existingSandbox(app, task)).state === "stopped") return [];
    return (await processesOf(app, task)).list();
  },
});
