/** @module Removes a session: the next call in it begins with a fresh shell. */
import * as z from "zod/mini";
import { defineOperation } from "../operation.ts";
import { visitSandbox } from "../sandbox-of-task.ts";
import { TaskInput } from "../schemas.ts";

export const sessionRemove = defineOperation({
  name: "session.remove",
  summary: "Forget a session: its directory, variables, functions and aliases",
  input: z.strictObject({ task: TaskInput, session: z.string() }),
  output: z.object({ removed: z.string() }),
  async run(app, { task, session }) {
    await (await visitSandbox(app, task)).sessions.remove(session);
    return { removed: session };
  },
});
