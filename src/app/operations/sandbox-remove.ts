/** @module Removes a sandbox and everything it owns. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { refuseIfBusy } from "../busy.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import type { SandboxSummary } from "../results.ts";
import { existingSandbox } from "../sandbox-of-task.ts";
import { SandboxSummaryShape, summarize } from "../schemas.ts";
import { forgetTaskSettings, readTaskSettings } from "../task-settings.ts";

export interface RemoveInput {
  readonly task: string;
  readonly force: boolean;
}

export const sandboxRemove = defineOperation({
  name: "sandbox.remove",
  summary: "Remove a sandbox: its processes, sessions and files, and what the task had chosen for itself",
  input: z.strictObject({ task: z.string(), force: z._default(z.boolean(), false) }),
  /** Null: there was no sandbox, but the task had settings of its own, which are forgotten. */
  output: z.object({ removed: z.nullable(SandboxSummaryShape) }),
  async run(app, input) {
    const chosen = readTaskSettings(app.profile.home, input.task) !== null;
    const removed = await removeSandbox(app, input).catch((error: unknown) => {
      if (chosen && HoldfastError.isInstance(error) && error.code === "sandbox-not-found") return null;
      throw error;
    });
    await forgetTaskSettings(app.profile.home, input.task);
    return { removed };
  },
});

/** @throws `sandbox-not-found`, or `busy` without `force` */
export async function removeSandbox(app: App, { task, force }: RemoveInput): Promise<SandboxSummary> {
  const own = await app.forTask(task);
  const ref = await existingSandbox(app, task);
  if (!force) await refuseIfBusy(own, ref);
  // Whoever names a sandbox to be removed means its files too, also those that would be kept for the next one.
  await (await own.lifecycle()).releaseTask(ref.owner, { forceRemove: true, purge: true });
  return summarize(ref);
}
