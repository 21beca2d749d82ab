/** @module Ends what lives of a run. Only after that may its task be given to somebody else (K18). */
import type { Run } from "../board/runs.ts";
import { recordOf } from "../dispatcher/launcher.ts";
import { endLeft, mayLive } from "../dispatcher/left-workers.ts";
import { isKnownDead } from "../dispatcher/predecessors.ts";
import { readSettings } from "../dispatcher/settings.ts";
import type { Launcher } from "../dispatcher/worker.ts";
import type { App } from "./create-app.ts";
import { openWorkers } from "./dispatching.ts";
import { createProfileConfigs } from "./worker-directory.ts";

/** Its supervisor runs on this machine, so nobody else may have the task yet. */
export async function isAliveHere(app: App, run: Run): Promise<boolean> {
  if (recordOf(run) === null || isKnownDead(run)) return false;
  return (await withLauncher(app, (launcher) => launcher.look(run))) === "alive";
}

/** Its worker is that of another machine or installation, and only somebody there can end it. */
export async function isElsewhere(app: App, run: Run): Promise<boolean> {
  if (recordOf(run) === null || isKnownDead(run)) return false;
  return (await withLauncher(app, (launcher) => launcher.look(run))) === "elsewhere";
}

/**
 * Ends the workers of ended runs that have outlived their supervisor, too: whatever knows of them may be about to go. One whose supervisor
 * lives is left to it.
 * @returns false when there is one
 */
export async function endLeftWorkers(app: App, runs: readonly Run[]): Promise<boolean> {
  const left = runs.filter(mayLive);
  if (left.length === 0) return true;
  const { store } = await app.kanban();
  // Nobody needs to look again, where it may no longer be found.
  const tell = ({ id }: Run) => store.recordExit(id, { code: null, signal: null, reason: "stopped" });
  return await withLauncher(app, (launcher) => endLeft(launcher, left, () => graceMs(app), tell));
}

/** Resolves when nothing of it is left. A person who has claimed a task has no worker. @throws when that cannot be made sure */
export async function endWorker(app: App, run: Run): Promise<void> {
  if (run.worker === null) return;
  const grace = await graceMs(app);
  await withLauncher(app, (launcher) => launcher.end(run, { graceMs: grace }));
}

async function graceMs(app: App): Promise<number> {
  return readSettings((await app.kanban()).options).settings.graceMs;
}

/** A launcher that starts nothing, for as long as the work takes. */
export async function withLauncher<T>(app: App, work: (launcher: Launcher) => Promise<T>): Promise<T> {
  const { launcher, close } = await openWorkers(app, { reserve: false, configs: createProfileConfigs(app), onEnd: () => {} });
  try {
    return await work(launcher);
  } finally {
    close();
  }
}
