/** @module Being woken when something happened on a board, also in another process (K23). */
import { systemClock, type Timer } from "../base/clock.ts";
import type { Database } from "./database.ts";
import { lastEventOf } from "./events.ts";
import type { StoreContext } from "./store-context.ts";
import { checkWhole } from "./task-input.ts";

export interface WatchOptions {
  /**
   * Looks for events each so many milliseconds. PostgreSQL tells only of what concerns a dispatcher, since telling holds up those who
   * write: whoever wants every event, such as comments, needs it there. A file tells of all of them.
   */
  readonly every?: number | undefined;
  /** The watch is impaired and goes on: a connection that is made anew, a file system that does not tell of changes. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface WatchOperations {
  /**
   * Calls `listener` soon after anybody has committed something that may concern a dispatcher: a task that can be started or will be, a
   * deadline, a place that is free, a run that was revoked. Many changes in a few milliseconds are one call, and now and then there is one without any.
   * @throws `board-unavailable`
   */
  watch(listener: () => void, options?: WatchOptions): Promise<AsyncDisposable>;
}

const SHORTEST_GAP_MS = 5;

/** `stop` ends all watches of the store. */
export function watchOperations({ database }: StoreContext): WatchOperations & { stop(): Promise<void> } {
  const watches = new Set<AsyncDisposable>();
  const start = async (listener: () => void, { every, onError = () => undefined }: WatchOptions) => {
    await using stack = new AsyncDisposableStack();
    const signal = stack.use(spaced(listener)).call;
    stack.use(await database.watch(signal, onError));
    if (every !== undefined) stack.use(await poll(database, { every: checkWhole("every", every), signal, onError }));
    return stack.move();
  };

  return {
    async watch(listener, options = {}) {
      const stack = await start(listener, options);
      watches.add(stack);
      return {
        async [Symbol.asyncDispose]() {
          watches.delete(stack);
          await stack.disposeAsync();
        },
      };
    },
    async stop() {
      await Promise.all([...watches].map((each) => each[Symbol.asyncDispose]()));
    },
  };
}

/** At once, then not for a moment; what comes in that moment is one call at its end. */
function spaced(listener: () => void): Disposable & { call(): void } {
  let pause: Timer | undefined;
  let wanted = false;
  let ended = false;
  const call = () => {
    wanted = true;
    if (ended || pause !== undefined) return;
    wanted = false;
    pause = systemClock.after(SHORTEST_GAP_MS, () => {
      pause = undefined;
      if (wanted) call();
    });
    listener();
  };
  return {
    call,
    [Symbol.dispose]() {
      ended = true;
      pause?.cancel();
    },
  };
}

interface PollOptions {
  readonly every: number;
  readonly signal: () => void;
  readonly onError: (error: unknown) => void;
}

async function poll(database: Database, { every, signal, onError }: PollOptions): Promise<AsyncDisposable> {
  let last = await database.readSettled(lastEventOf);
  let ended = false;
  let looking: Promise<void> | undefined;
  const look = async () => {
    const before = last;
    try {
      last = await database.readSettled(lastEventOf);
    } catch (error) {
      onError(error);
    }
    if (ended) return;
    if (last !== before) signal();
    timer = again();
  };
  const again = () =>
    systemClock.after(every, () => {
      looking = look();
    });
  let timer = again();
  return {
    async [Symbol.asyncDispose]() {
      ended = true;
      timer.cancel();
      await looking;
    },
  };
}
