/**
 * @module The worker of a task's run before: its run may have ended by its own word while it still lives, and no second one may begin
 * beside it (K18).
 */
import { type Clock, delay } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { exitOf } from "../board/exit.ts";
import { RELEASES } from "../board/failures.ts";
import type { Run } from "../board/runs.ts";
import type { Store } from "../board/store.ts";
import type { Rest } from "./backoff.ts";
import { LINGER_MS } from "./linger.ts";
import { createRecent } from "./recent.ts";
import type { DispatchSettings } from "./settings.ts";
import type { Timeline } from "./timeline.ts";
import { createTroubleReport } from "./trouble-report.ts";
import type { Launcher } from "./worker.ts";

/** Most go at once, so at first it is looked often. */
const SHORTEST_POLL_MS = 25;
const LONGEST_POLL_MS = 1000;
/** Nothing is left of most, and to find that out takes less. */
const PATIENCE_MS = 250;

export interface Predecessors {
  check(task: string, options: CheckOptions): Promise<Clearance>;
  /** After the claim: still the same as when it was checked? */
  unchanged(task: string, options: { claimed: number; last: number | null }): Promise<boolean>;
  /** Waits for nobody any more; what is being ended goes on. */
  stop(): void;
}

export interface CheckOptions {
  readonly settings: DispatchSettings;
  readonly time: Timeline;
  /** Only looks. */
  readonly dryRun: boolean;
}

export type Clearance = { readonly clear: true; readonly last: number | null } | { readonly clear: false; readonly rest: Rest };

export interface PredecessorsOptions {
  readonly store: Pick<Store, "runs">;
  readonly launcher: Pick<Launcher, "look" | "end">;
  readonly clock: Clock;
  readonly log: Logger;
  /** One is gone, so its task can go on; false: it could not be made sure to be dead, so it must be tried again. */
  readonly onSettled: (gone: boolean) => void;
}

export function createPredecessors({ store, launcher, clock, log, onSettled }: PredecessorsOptions): Predecessors {
  /** Run ids of workers that are known to be dead. */
  const gone = createRecent<number, true>();
  const leaving = new Set<number>();
  const troubles = createTroubleReport();
  // A number, since whoever was stopped may begin again.
  let stops = 0;

  /** Undefined when it was stopped. */
  const leave = async (run: Run, { settings, lingerMs }: { settings: DispatchSettings; lingerMs: number }) => {
    const began = stops;
    const limit = clock.monotonic() + lingerMs;
    let pause = SHORTEST_POLL_MS;
    while (began === stops && clock.monotonic() < limit && (await launcher.look(run)) === "alive") {
      await delay(clock, pause, { background: true });
      pause = Math.min(2 * pause, LONGEST_POLL_MS);
    }
    if (began !== stops) return undefined;
    await launcher.end(run, { graceMs: settings.graceMs });
    gone.set(run.id, true);
    troubles.ends(String(run.id));
    return true;
  };
  const startLeaving = (run: Run, options: { settings: DispatchSettings; lingerMs: number }): Promise<void> => {
    leaving.add(run.id);
    return leave(run, options)
      .catch((error: unknown) => {
        const trouble = describeError(error);
        if (troubles.begins(String(run.id), trouble)) {
          log.error(`the worker of run ${run.id} could not be ended, so ${run.task} waits: ${trouble}`, { task: run.task, run: run.id });
        }
        return false;
      })
      .then((over) => {
        leaving.delete(run.id);
        if (over !== undefined) onSettled(over);
      });
  };

  return {
    async check(task, { settings, time, dryRun }) {
      const run = lastWorker(await store.runs({ task }));
      if (run === undefined) return { clear: true, last: null };
      const clear = { clear: true, last: run.id } as const;
      if (isKnownDead(run) || gone.has(run.id)) return clear;
      const seen = await launcher.look(run);
      if (seen === "elsewhere") return elsewhere(run, { settings, time }) ?? clear;
      if (dryRun && seen === "gone") return clear;
      const lingerMs = Math.max(0, LINGER_MS - time.since(run.endedAt ?? run.startedAt));
      const wait = { clear: false, rest: { reason: "previous_worker", until: time.now + lingerMs } } as const;
      if (dryRun) return wait;
      if (leaving.has(run.id)) return wait;
      const over = startLeaving(run, { settings, lingerMs });
      // Its supervisor is gone, and most likely so is all it had started.
      if (seen === "gone") await Promise.race([over, delay(clock, PATIENCE_MS, { background: true })]);
      return gone.has(run.id) ? clear : wait;
    },
    async unchanged(task, { claimed, last }) {
      const others = (await store.runs({ task })).filter(({ id }) => id !== claimed);
      return (lastWorker(others)?.id ?? null) === last;
    },
    stop() {
      stops += 1;
    },
  };
}

/** The last run of a task that had a worker. */
export function lastWorker(runs: readonly Run[]): Run | undefined {
  return runs.findLast(({ worker }) => worker !== null);
}

/** A dispatcher releases only what is dead, and a supervisor tells of an end only when all of the worker has ended. */
export function isKnownDead(run: Run): boolean {
  return exitOf(run) !== null || RELEASES.some((release) => release === run.outcome);
}

/** Its supervisor there ends it at the latest when it cannot renew the claim. */
function elsewhere(run: Run, { settings, time }: Pick<CheckOptions, "settings" | "time">): Clearance | null {
  const left = settings.claimTtlMs - time.since(run.expiresAt ?? run.endedAt ?? run.startedAt);
  return left <= 0 ? null : { clear: false, rest: { reason: "previous_worker_elsewhere", until: time.now + left } };
}
