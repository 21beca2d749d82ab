/** @module Time, injected: the only place that reads the system's clocks. */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch, for timestamps that people or other processes read. */
  now(): number;
  /** Milliseconds that only ever grow, for durations and limits: a change of the wall clock must not fire a timeout. */
  monotonic(): number;
  /** Runs `callback` once after `ms`. A `background` timer does not keep the process alive. */
  after(ms: number, callback: () => void, options?: { background?: boolean }): Timer;
}

// setTimeout silently turns anything longer into 1 ms.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback, { background = false } = {}) {
    const handle = setTimeout(callback, Math.min(Math.max(ms, 0), LONGEST_TIMER_MS));
    if (background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `ms` on the given clock. */
export function delay(clock: Clock, ms: number, options?: { background?: boolean }): Promise<void> {
  return new Promise((resolve) => clock.after(ms, resolve, options));
}

export interface WithinOptions<Late> {
  readonly clock: Clock;
  readonly limitMs: number;
  /** What counts when the limit is over. It may throw. */
  readonly late: () => Late;
  /** The limit alone does not keep the process alive. */
  readonly background?: boolean;
}

/** Settles like `work`, or as `late` says when it takes longer. The work itself goes on. */
export async function within<T, Late>(
  work: Promise<T>,
  { clock, limitMs, late, background = false }: WithinOptions<Late>,
): Promise<T | Late> {
  const { promise: expired, resolve, reject } = Promise.withResolvers<Late>();
  const expire = () => {
    try {
      resolve(late());
    } catch (error) {
      reject(error);
    }
  };
  const timer = clock.after(limitMs, expire, { background });
  try {
    return await Promise.race([work, expired]);
  } finally {
    timer.cancel();
  }
}
