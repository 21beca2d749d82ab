/** @module Forgets a background process that has ended. */
import * as z from "zod/mini";
import { findProcess } from "../find-process.ts";
import { defineOperation } from "../operation.ts";
import { TaskInput } from "../schemas.ts";

export const processRemove = defineOperation({
  name: "process.remove",
  summary: "Forget a background process that has ended, and its output",
  input: z.strictObject({ task: TaskInput, process: z.string() }),
  output: z.object({ removed: z.string() }),
  async run(app, { task, process: wanted }) {
    const { processes, info } = await findProcess(app, task, wanted);
    await processes.remove(info.id);
    return { removed: info.id };
  },
});
