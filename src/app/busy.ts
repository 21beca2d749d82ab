/** @module Refuses to end what somebody still needs. */
import { HoldfastError } from "../base/errors.ts";
import type { SandboxRef } from "../sandbox/driver.ts";
import type { App } from "./create-app.ts";

/** @throws `busy`, naming what runs in the sandbox */
export async function refuseIfBusy(app: App, ref: SandboxRef): Promise<void> {
  const running = (await (await app.driver()).activity?.(ref)) ?? [];
  if (running.length === 0) return;
  const shown = running.slice(0, 3).map(({ pid, command }) => `${command} (${pid})`);
  const more = running.length > shown.length ? ` and ${running.length - shown.length} more` : "";
  throw new HoldfastError("busy", `the sandbox of task ${ref.owner.task} is busy with ${shown.join(", ")}${more}`, {
    facts: { task: ref.owner.task, running },
  });
}
