/** @module Removes a sandbox and what it owns; the files in its home and workspace only when that is asked for (S22). */
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
  /** Also the files of one that keeps them. */
  readonly files: boolean;
}

export interface RemovedSandbox {
  readonly removed: SandboxSummary;
  /** Directories on the host with files that stay for the next sandbox of the task. */
  readonly kept: readonly string[];
}

export const RemoveInputShape = z.strictObject({
  task: z.string(),
  force: z._default(z.boolean(), false),
  files: z._default(z.boolean(), false),
});

export const sandboxRemove = defineOperation({
  name: "sandbox.remove",
  summary: "Remove a sandbox: its processes and sessions, and what the task had chosen for itself",
  input: RemoveInputShape,
  /** Null: there was no sandbox, but earlier ones had left something, or the task had settings of its own. That is gone, but for `kept`. */
  output: z.object({ removed: z.nullable(SandboxSummaryShape), kept: z.readonly(z.array(z.string())) }),
  async run(app, input) {
    const chosen = readTaskSettings(app.profile.home, input.task) !== null;
    const result = await removeSandbox(app, input).catch(async (error: unknown) => {
      if (!HoldfastError.isInstance(error) || error.code !== "sandbox-not-found") throw error;
      const left = await clearLeftovers(app, input);
      if (left === null && !chosen) throw error;
      return { removed: null, kept: left ?? [] };
    });
    await forgetTaskSettings(app.profile.home, input.task);
    return result;
  },
});

/** @throws `sandbox-not-found`, or `busy` without `force` */
export async function removeSandbox(app: App, input: RemoveInput): Promise<RemovedSandbox> {
  const { task, force, files } = input;
  const own = await app.forTask(task);
  const ref = await existingSandbox(app, task);
  // A task may have several, of processes that did not want to share; all of them go.
  if (!force) for (const each of await (await own.driver()).list(ref.owner)) await refuseIfBusy(own, each);
  await (await own.lifecycle()).releaseTask(ref.owner, { forceRemove: true, purge: files });
  return { removed: summarize(ref), kept: (await clearLeftovers(app, input)) ?? [] };
}

/** What others have left as well. The files that stay; null if there was nothing at all. */
async function clearLeftovers(app: App, { task, files }: RemoveInput): Promise<string[] | null> {
  const own = await app.forTask(task);
  const leftovers = await leftoversOf(own, await own.owner(task), "asked for");
  const [kept, gone] = [leftovers.filter((leftover) => leftover.files && !files), leftovers.filter((leftover) => files || !leftover.files)];
  for (const { remove } of gone) await remove();
  return leftovers.length === 0 ? null : kept.map(({ what }) => what);
}
