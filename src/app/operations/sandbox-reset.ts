/** @module Replaces a sandbox by a fresh one. */
import * as z from "zod/mini";
import { defineOperation } from "../operation.ts";
import { useSandbox } from "../sandbox-of-task.ts";
import { SandboxSummaryShape, summarize } from "../schemas.ts";
import { RemoveInputShape, removeSandbox } from "./sandbox-remove.ts";

export const sandboxReset = defineOperation({
  name: "sandbox.reset",
  summary: "Remove a sandbox and make a fresh one in its place",
  input: RemoveInputShape,
  output: z.object({ removed: SandboxSummaryShape, kept: z.readonly(z.array(z.string())), made: SandboxSummaryShape }),
  async run(app, input) {
    const { removed, kept } = await removeSandbox(app, input);
    const { sandbox } = await useSandbox(app, input.task);
    return { removed, kept, made: summarize(sandbox.ref) };
  },
});
