/** @module Finds out that a file of SQLite has new events, whoever wrote them, without asking all the time. */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { systemClock, type Timer } from "../base/clock.ts";

/**
 * A writer shows what it has committed a moment after it has written the file, and may be kept waiting in between: so those who were told of
 * the write look again, and once a second whatever they were told.
 */
const LOOK_AGAIN_MS = [2, 10, 50, 250];
const POLL_MS = 1000;

export interface SqliteWatchOptions {
  /** The newest event that needs no signal. */
  readonly seen: number;
  readonly lastEvent: () => Promise<number>;
  readonly signal: () => void;
  /** Looking failed, or nobody tells of changes any more; it goes on looking once a second. */
  readonly onError: (error: unknown) => void;
}

export interface SqliteWatch extends AsyncDisposable {
  /** There may be something new. */
  perhaps(): void;
}

export function watchSqlite(path: string, { seen, lastEvent, signal, onError }: SqliteWatchOptions): SqliteWatch {
  const inMemory = path === ":memory:";
  let last = seen;
  let looking: Promise<void> | undefined;
  let again = false;
  let looks = LOOK_AGAIN_MS.length;
  let timer: Timer | undefined;
  let ended = false;

  const lookOnce = async () => {
    const before = last;
    try {
      last = await lastEvent();
    } catch (error) {
      if (!ended) onError(error);
    }
    if (!ended && last !== before) signal();
  };
  const lookWhileTold = async () => {
    do {
      again = false;
      await lookOnce();
    } while (again && !ended);
    looking = undefined;
    if (ended || inMemory) return;
    timer = systemClock.after(LOOK_AGAIN_MS[looks] ?? POLL_MS, look);
    looks += 1;
  };
  const look = () => {
    again = true;
    timer?.cancel();
    looking ??= lookWhileTold();
  };
  const perhaps = () => {
    looks = 0;
    look();
  };
  const watcher = inMemory ? undefined : watchFile(resolve(path), { perhaps, onError });
  if (!inMemory) look();

  return {
    perhaps,
    async [Symbol.asyncDispose]() {
      ended = true;
      timer?.cancel();
      watcher?.close();
      await looking;
    },
  };
}

/** Its directory, since the log of the database comes and goes, and a watch of a file ends with it. */
function watchFile(
  path: string,
  { perhaps, onError }: { perhaps: () => void } & Pick<SqliteWatchOptions, "onError">,
): FSWatcher | undefined {
  const names = new Set([basename(path), `${basename(path)}-wal`]);
  try {
    const watcher = watch(dirname(path), (_, name) => {
      if (name === null || names.has(name)) perhaps();
    });
    return watcher.on("error", (error) => {
      watcher.close();
      onError(error);
    });
  } catch (error) {
    onError(error);
    return undefined;
  }
}
