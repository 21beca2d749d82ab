/** @module One piece of work that several callers wait for, and that is cancelled only when none of them wants it any more. */
import { untilAborted } from "./abort.ts";

export interface SharedWork<T> {
  /** Waits for the outcome. A waiter whose signal fires gives up alone; when the last one has given up, the work is told to stop. */
  join(signal?: AbortSignal): Promise<T>;
  /** Tells the work to stop, whoever waits. */
  cancel(reason: unknown): void;
  /** It was told to stop and is winding down: too late to join. */
  readonly cancelled: boolean;
  /** Resolves with the end of the work, also when it failed. */
  readonly settled: Promise<void>;
}

export function shareWork<T>(run: (signal: AbortSignal) => Promise<T>): SharedWork<T> {
  const controller = new AbortController();
  let over = false;
  let waiting = 0;
  const outcome = run(controller.signal);
  const end = () => {
    over = true;
  };
  const settled = outcome.then(end, end);
  // Never after the end: what came of the work may still listen to the signal.
  const cancel = (reason: unknown) => {
    if (!over) controller.abort(reason);
  };

  return {
    async join(signal) {
      waiting++;
      try {
        return await untilAborted(outcome, signal, "the caller stopped waiting");
      } finally {
        if (--waiting === 0) cancel(signal?.reason);
      }
    },
    cancel,
    get cancelled() {
      return controller.signal.aborted;
    },
    settled,
  };
}
