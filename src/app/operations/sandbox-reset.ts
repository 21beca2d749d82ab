/** @module Replaces a sandbox by a fresh one. */
import * as z from "zod/mini";
import { defineOperation } from "../operation.ts";
import { useSandbox } from "../sandbox-of-task.ts";
import { SandboxSummaryShape, summarize } from "../schemas.ts";
import { removeSandbox } from "./sandbox-remove.ts";

export const sandboxReset = defineOperation({
  name: "sandbox.reset",
  summary: "Remove a sandbox and make a fresh one in its place",
  input: z.strictObject({ task: z.string(), force: z._default(z.boolean(), false) }),
  output: z.object({ removed: SandboxSummaryShape, made: SandboxSummaryShape }),
  async run(app, { task, force }) {
    const removed = await removeSandbox(app, { task, force });
    const { sandbox } = await useSandbox(app, task);
    return { removed, made: summarize(sandbox.ref) };
  },
});
