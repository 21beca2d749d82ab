/** @module Starts of workers that take long, such as the checkout of a large repository, go on beside the passes. */
import { type Clock, within } from "../base/clock.ts";
import type { Spawned } from "./spawn.ts";

/** A pass waits that long, so that it usually tells of all that it started. */
const SLOW_MS = 1000;

export interface Starts {
  /** What was started by now, and those of earlier passes that took longer. */
  wait(board: string, started: Promise<Spawned[]>, options: { fully: boolean }): Promise<Spawned[]>;
  /** Waits a moment for those under way. What is not done by then is found as a claim without a worker by the next dispatcher. */
  settled(): Promise<void>;
}

export function createStarts(clock: Clock, onLate: () => void): Starts {
  const late = new Map<string, Spawned[]>();
  const underWay = new Set<Promise<Spawned[]>>();

  const inTime = <T>(work: Promise<T>) => within(work, { clock, limitMs: SLOW_MS, late: () => null, background: true });

  return {
    async wait(board, started, { fully }) {
      const before = late.get(board) ?? [];
      late.delete(board);
      const spawned = fully ? await started : await inTime(started);
      if (spawned !== null) return [...before, ...spawned];
      underWay.add(started);
      void started
        .then((slow) => {
          late.set(board, [...(late.get(board) ?? []), ...slow]);
          onLate();
        })
        .finally(() => underWay.delete(started));
      return before;
    },
    async settled() {
      await inTime(Promise.allSettled(underWay));
    },
  };
}
