/** @module A worker in a sandbox hands on only to workers that are as isolated, and hears at once when it may not (K4, K29). */
import { HoldfastError } from "../base/errors.ts";
import { parseProfileName } from "../base/names.ts";
import { isIsolated } from "../board/isolated.ts";
import type { App } from "./create-app.ts";
import type { Kanban } from "./kanban.ts";
import { createProfileConfigs } from "./worker-directory.ts";

export interface HandingOver {
  /** Null: nobody is named. */
  readonly to: string | null | undefined;
  /** `a review` */
  readonly what: string;
}

/**
 * The dispatcher would not start the worker; this says so to who can still choose another one. What cannot be known here is left to it.
 * @throws `move-refused`
 */
export async function checkHandOver(app: App, { store, worker }: Kanban, { to, what }: HandingOver): Promise<void> {
  if (worker === null || to === null || to === undefined) return;
  const [run] = await store.runs({ task: worker.task, open: true });
  if (run === undefined || !isIsolated(run.worker)) return;
  const profile = parseProfileName(to);
  const configs = createProfileConfigs(app);
  const settings = await configs.settingsOf(profile).catch(() => null);
  // Without a command it is a lane, from which people take what they choose.
  if (settings === null || settings.command.length === 0 || settings.acceptsFromSandboxes || (await configs.isolates(profile))) return;
  throw new HoldfastError("move-refused", `${what} for ${profile} is refused: its workers run on the host, and this one is in a sandbox`, {
    hint: `name a profile whose workers run in a sandbox; people can let ${profile} have it with worker.accepts_from_sandboxes`,
    facts: { task: worker.task, profile },
  });
}
