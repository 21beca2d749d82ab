/**
 * @module The one rule by which goes what a finished task had of its own (K30): first its workers, then its sandboxes, then its workspace.
 * Whoever tidies up keeps to it: a dispatcher that stays, one that looks once, and who collects garbage.
 */
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Run } from "../board/runs.ts";
import type { Store } from "../board/store.ts";
import type { Task } from "../board/task.ts";
import { isFinished } from "../board/transitions.ts";
import { endLeft, mayLive } from "./left-workers.ts";
import type { ReadSettings } from "./settings.ts";
import type { Launcher } from "./worker.ts";
import type { Workspaces } from "./workspace.ts";

export interface FreeOptions {
  readonly store: Pick<Store, "runs" | "getTask">;
  readonly launcher: Pick<Launcher, "look" | "end">;
  readonly settings: () => Promise<ReadSettings>;
  readonly clock: Clock;
}

export interface SettleOptions extends FreeOptions {
  readonly workspaces: Pick<Workspaces, "settle">;
  /** Removes the sandboxes that belonged to the task alone. @returns the profiles that had one */
  readonly removeSandboxes: (task: Task, profiles: readonly string[]) => Promise<readonly string[]>;
  readonly log: Logger;
}

/** `busy`: a worker of it may still live. Otherwise the finished task, and the profiles that may have a sandbox for it. */
export type Freed = "busy" | "unfinished" | { readonly task: Task; readonly profiles: readonly string[] };

/** Ends the workers that have outlived their supervisor, unless it only looks, and says whether what the task has may go. */
export async function free(id: string, options: FreeOptions, { dryRun = false } = {}): Promise<Freed> {
  const { store, launcher, settings } = options;
  const left = (await store.runs({ task: id })).filter(mayLive);
  if (left.length > 0 && (await isBusy(left, options))) return "busy";
  if (!dryRun && !(await endLeft(launcher, left, async () => (await settings()).settings.graceMs))) return "busy";
  // As it is now: it may have been taken up again meanwhile.
  const task = await store.getTask(id);
  if (!isFinished(task.status)) return "unfinished";
  return { task, profiles: [...new Set((await store.runs({ task: id })).map(({ profile }) => profile))] };
}

/** @returns whether nothing of the task is left to do. `only`: these profiles are known to be all that have a sandbox for it. */
export async function settleFinished(id: string, options: SettleOptions, { only }: { only?: ReadonlySet<string> } = {}): Promise<boolean> {
  const freed = await free(id, options);
  if (freed === "busy") return false;
  if (freed === "unfinished") return true;
  const { task, profiles } = freed;
  await options.removeSandboxes(task, only === undefined ? profiles : profiles.filter((profile) => only.has(profile)));
  const { kept } = await options.workspaces.settle(task);
  if (kept !== null) options.log.debug(`the workspace of ${id} stays: ${kept}`);
  return true;
}

/** One on another machine cannot be looked for; its supervisor there ends it at the latest when it cannot renew the claim. */
async function isBusy(runs: readonly Run[], { launcher, settings, clock }: FreeOptions): Promise<boolean> {
  const { claimTtlMs } = (await settings()).settings;
  const seen = await Promise.all(runs.map(async (run) => ({ run, where: await launcher.look(run) })));
  return seen.some(({ run, where }) => where === "alive" || (where === "elsewhere" && clock.now() - (run.endedAt ?? 0) < claimTtlMs));
}
