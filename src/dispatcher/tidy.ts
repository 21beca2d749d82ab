/**
 * @module What runs leave that have ended by their worker's own word: workers that outlived it (K18), and the workspace and the sandbox of a
 * finished task, which go when nothing of it lives any more (K30).
 */
import type { Clock } from "../base/clock.ts";
import { describeError, HoldfastError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { Store } from "../board/store.ts";
import type { Task } from "../board/task.ts";
import { isFinished } from "../board/transitions.ts";
import { endedIn, endLeft, mayLive, recentlyEnded } from "./left-workers.ts";
import type { ReadSettings } from "./settings.ts";
import { createTroubleReport } from "./trouble-report.ts";
import type { Launcher } from "./worker.ts";
import type { Workspaces } from "./workspace.ts";

/** Rounds may come at any rate, and an engine that is down takes seconds to say so. */
const RETRY_MS = 60_000;

export interface TidyOptions {
  readonly store: Pick<Store, "events" | "lastEvent" | "runs" | "getTask">;
  readonly launcher: Pick<Launcher, "look" | "end">;
  readonly workspaces: Pick<Workspaces, "settle">;
  /** Removes the sandboxes that belonged to the task alone. */
  readonly removeSandboxes: (task: Task, profiles: readonly string[]) => Promise<void>;
  /** Tasks of which something is left from before this dispatcher began. Some of them may not be finished. */
  readonly leftBehind: () => Promise<readonly string[]>;
  readonly settings: () => Promise<ReadSettings>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Tidy {
  /** Looks at what has ended since the last time, and at what could not go then. */
  round(): Promise<void>;
}

export function createTidy({ store, launcher, workspaces, removeSandboxes, leftBehind, settings, clock, log }: TidyOptions): Tidy {
  let since: number | undefined;
  const pending = new Set<string>();
  /** When what could not go is tried again. */
  const retries = new Map<string, number>();
  const troubles = createTroubleReport();

  const leftWorkers = async (task: string) => (await store.runs({ task })).filter(mayLive);
  /** @returns the last event of the time before this dispatcher */
  const lookBack = async () => {
    const last = await store.lastEvent();
    for (const task of await leftBehind()) pending.add(task);
    for (const task of await recentlyEnded(store, { last })) if ((await leftWorkers(task)).length > 0) pending.add(task);
    return last;
  };
  const collect = async () => {
    since ??= await lookBack();
    for (;;) {
      const events = await store.events({ since });
      for (const task of endedIn(events)) pending.add(task);
      const last = events.at(-1);
      if (last === undefined) return;
      since = last.id;
    }
  };
  /** @returns whether nothing of it is left to do */
  const settle = async (id: string): Promise<boolean> => {
    if (!(await endLeft(launcher, await leftWorkers(id), async () => (await settings()).settings.graceMs))) return false;
    const task = await store.getTask(id);
    if (!isFinished(task.status)) return true;
    const runs = await store.runs({ task: id });
    await removeSandboxes(task, [...new Set(runs.map(({ profile }) => profile))]);
    const { kept } = await workspaces.settle(task);
    if (kept !== null) log.debug(`the workspace of ${id} stays: ${kept}`);
    return true;
  };
  const failed = (id: string, error: unknown) => {
    if (HoldfastError.isInstance(error) && error.code === "task-not-found") {
      forget(id);
      return;
    }
    retries.set(id, clock.monotonic() + RETRY_MS);
    const trouble = describeError(error);
    if (troubles.begins(id, trouble)) log.warn(`what ${id} left could not be removed, and will be tried again: ${trouble}`);
  };
  const forget = (id: string) => {
    pending.delete(id);
    retries.delete(id);
    if (troubles.ends(id)) log.info(`what ${id} left is removed at last`);
  };

  return {
    async round() {
      await collect();
      for (const id of pending) {
        if ((retries.get(id) ?? 0) > clock.monotonic()) continue;
        try {
          if (await settle(id)) forget(id);
        } catch (error) {
          failed(id, error);
        }
      }
    },
  };
}
