/**
 * @module Time as the dispatcher lived it: the wall clock may jump (set by hand, a machine that slept), and what a jump seems to have aged
 * must not be taken for dead.
 */
import type { Clock } from "../base/clock.ts";

const LARGEST_DRIFT_MS = 2000;

export interface Timeline {
  readonly now: number;
  /** For so long after a jump forward, those who live get the chance to say so. */
  readonly settling: boolean;
  /** Milliseconds that have really passed since a time of the wall clock, as far as this process can know. */
  since(wall: number): number;
}

export interface TimelineSource {
  /** To be asked once at the beginning of each pass. */
  look(options: { settleMs: number }): Timeline;
}

export function createTimelines(clock: Clock): TimelineSource {
  let last = { now: clock.now(), monotonic: clock.monotonic() };
  let jumpedAt: number | undefined;
  const jumps: { before: number; size: number }[] = [];

  return {
    look({ settleMs }) {
      const now = clock.now();
      const monotonic = clock.monotonic();
      const size = now - last.now - (monotonic - last.monotonic);
      if (Math.abs(size) > LARGEST_DRIFT_MS) {
        jumps.push({ before: last.now, size });
        if (size > 0) jumpedAt = monotonic;
      }
      last = { now, monotonic };
      return {
        now,
        settling: jumpedAt !== undefined && monotonic - jumpedAt < settleMs,
        since: (wall) => jumps.reduce((passed, jump) => (wall <= jump.before ? passed - jump.size : passed), now - wall),
      };
    },
  };
}
