/** @module Removes a sandbox and everything it owns. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import type { SandboxRef } from "../../sandbox/driver.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import { existingSandbox } from "../sandbox-of-task.ts";
import { SandboxSummaryShape, summarize } from "../schemas.ts";

export const sandboxRemove = defineOperation({
  name: "sandbox.remove",
  summary: "Remove a sandbox: its processes, sessions and files",
  input: z.strictObject({ task: z.string(), force: z._default(z.boolean(), false) }),
  output: z.object({ removed: SandboxSummaryShape }),
  async run(app, { task, force }) {
    const ref = await existingSandbox(app, task);
    if (!force) await refuseIfBusy(app, ref);
    await (await app.lifecycle()).releaseTask(ref.owner, { forceRemove: true });
    // Whoever names a sandbox to be removed means its files too, also those that would be kept for the next one.
    await (await app.driver()).destroy(ref, { purge: true });
    return { removed: summarize(ref) };
  },
});

async function refuseIfBusy(app: App, ref: SandboxRef): Promise<void> {
  const running = (await (await app.driver()).activity?.(ref)) ?? [];
  if (running.length === 0) return;
  const shown = running.slice(0, 3).map(({ pid, command }) => `${command} (${pid})`);
  const more = running.length > shown.length ? ` and ${running.length - shown.length} more` : "";
  throw new HoldfastError("busy", `the sandbox of task ${ref.owner.task} is busy with ${shown.join(", ")}${more}`, {
    facts: { task: ref.owner.task, running },
  });
}
