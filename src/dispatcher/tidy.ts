/**
 * @module What runs leave that have ended by their worker's own word: workers that outlived it (K18), and the workspace and the sandbox of a
 * finished task, which go when nothing of it lives any more (K30).
 */
import { describeError, HoldfastError } from "../base/errors.ts";
import type { Store } from "../board/store.ts";
import { endedIn, mayLive, recentlyEnded } from "./left-workers.ts";
import { type SettleOptions, settleFinished } from "./settle-finished.ts";
import { createTroubleReport } from "./trouble-report.ts";

/** Rounds may come at any rate, and an engine that is down takes seconds to say so. */
const RETRY_MS = 60_000;

export interface TidyOptions extends SettleOptions {
  readonly store: Pick<Store, "events" | "lastEvent" | "runs" | "getTask">;
  /** Tasks of which something is left from before this dispatcher began. Some of them may not be finished. */
  readonly leftBehind: () => Promise<readonly string[]>;
}

export interface Tidy {
  /** Looks at what has ended since the last time, and at what could not go then. */
  round(): Promise<void>;
}

export function createTidy(options: TidyOptions): Tidy {
  const { store, leftBehind, clock, log } = options;
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
          if (await settleFinished(id, options)) forget(id);
        } catch (error) {
          failed(id, error);
        }
      }
    },
  };
}
