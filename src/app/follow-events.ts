/** @module Events of a board as they happen. */
import { describeError } from "../base/errors.ts";
import type { BoardEvent } from "../board/events.ts";
import { isUrl } from "../board/location.ts";
import type { App } from "./create-app.ts";

const PAGE = 500;
const LOOK_EVERY_MS = 500;

export interface FollowOptions {
  readonly board?: string;
  readonly task?: string;
  /** Only those after this one. */
  readonly since: number;
  readonly signal: AbortSignal;
}

/** Oldest first, then each new one, until aborted. */
export async function* followEvents(app: App, { signal, since, ...filter }: FollowOptions): AsyncGenerator<BoardEvent> {
  const { store, database } = await app.kanban();
  const bell = createBell();
  const stop = () => bell.ring();
  signal.addEventListener("abort", stop);
  try {
    // PostgreSQL tells only of what concerns a dispatcher.
    const every = isUrl(database) ? LOOK_EVERY_MS : undefined;
    const onError = (error: unknown) => app.log.warn(`watching the board is impaired: ${describeError(error)}`);
    await using _watch = await store.watch(bell.ring, { every, onError });
    for (let last = since; !signal.aborted; ) {
      // Before it is looked, so that nothing which comes meanwhile is slept through.
      const rung = bell.next();
      const events = await store.events({ ...filter, since: last, limit: PAGE });
      yield* events;
      last = events.at(-1)?.id ?? last;
      if (events.length < PAGE && !signal.aborted) await rung;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function createBell(): { ring(): void; next(): Promise<void> } {
  let waiting = Promise.withResolvers<void>();
  return {
    ring() {
      waiting.resolve();
      waiting = Promise.withResolvers<void>();
    },
    next: () => waiting.promise,
  };
}
