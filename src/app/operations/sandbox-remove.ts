/** @module Removes a sandbox and everything it owns. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { refuseIfBusy } from "../busy.ts";
import type { App } from "../create-app.ts";
import { leftoversOf } from "../leftovers.ts";
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
  /** Null: there was no sandbox, but earlier ones had left files, or the task had settings of its own. They are gone. */
  output: z.object({ removed: z.nullable(SandboxSummaryShape) }),
  async run(app, input) {
    const chosen = readTaskSettings(app.profile.home, input.task) !== null;
    const removed = await removeSandbox(app, input).catch(async (error: unknown) => {
      if (!HoldfastError.isInstance(error) || error.code !== "sandbox-not-found") throw error;
      if ((await clearLeftovers(app, input.task)) || chosen) return null;
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
  // A task may have several, of processes that did not want to share; all of them go.
  if (!force) for (const each of await (await own.driver()).list(ref.owner)) await refuseIfBusy(own, each);
  // Whoever names a sandbox to be removed means its files too, also those that would be kept for the next one.
  await (await own.lifecycle()).releaseTask(ref.owner, { forceRemove: true, purge: true });
  return summarize(ref);
}

/** True if there were any. */
async function clearLeftovers(app: App, task: string): Promise<boolean> {
  const own = await app.forTask(task);
  const leftovers = await leftoversOf(own, await own.owner(task), "asked for");
  for (const { remove } of leftovers) await remove();
  return leftovers.length > 0;
}
