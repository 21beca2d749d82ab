/** @module A clock that stands still until the test moves it. */
import type { Clock } from "../../src/base/clock.ts";
import { createBell } from "./bell.ts";

export interface ManualClock extends Clock {
  /** Moves time on and runs every timer that falls due, in order; also those that are set on the way. */
  advance(ms: number): Promise<void>;
  /** How many timers wait. */
  readonly pending: number;
  /** Resolves as soon as so many timers wait. */
  untilPending(count: number): Promise<void>;
}

export function createManualClock(start = 1_700_000_000_000): ManualClock {
  let elapsed = 0;
  const timers = new Set<{ at: number; callback: () => void }>();
  const set = createBell();
  const nextDue = (limit: number) => [...timers].filter((timer) => timer.at <= limit).sort((a, b) => a.at - b.at)[0];

  return {
    now: () => start + elapsed,
    monotonic: () => elapsed,
    after(ms, callback) {
      const timer = { at: elapsed + ms, callback };
      timers.add(timer);
      set.ring();
      return { cancel: () => void timers.delete(timer) };
    },
    async advance(ms) {
      const end = elapsed + ms;
      for (let due = nextDue(end); due !== undefined; due = nextDue(end)) {
        timers.delete(due);
        elapsed = due.at;
        due.callback();
        await settle();
      }
      elapsed = end;
      await settle();
    },
    get pending() {
      return timers.size;
    },
    untilPending: (count) => set.until(() => timers.size >= count),
  };
}

/** Lets every promise that is ready run, with what follows from it. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
