/** @module Waiting for a database that is away for a moment: it restarts, or somebody else keeps it for long. */
import { type Clock, delay } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Database } from "./database.ts";

export interface Patience {
  /** How long it may be away before whoever asks is told. */
  readonly limitMs: number;
  /** Called once each time that it goes away. */
  readonly onWait: (error: HoldfastError) => void;
}

export interface WriteOptions {
  /** The work recognises what it has done before, so it may be done again when nobody knows whether it was. @default false */
  readonly repeatable?: boolean | undefined;
}

/** Runs something until the database is there. */
export type Patiently = <T>(attempt: () => T | Promise<T>, options?: WriteOptions) => Promise<T>;

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2000;

export function createPatience({ clock, limitMs, onWait }: Patience & { readonly clock: Clock }): Patiently {
  /** Of all that is asked: who was told that it is away need not wait for as long again to hear of the next thing. */
  let awaySince: number | undefined;
  return async (attempt, { repeatable = false } = {}) => {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        const result = await attempt();
        awaySince = undefined;
        return result;
      } catch (error) {
        if (!mayPass(error) || (error.facts.undecided === true && !repeatable)) throw error;
        if (awaySince === undefined) onWait(error);
        awaySince ??= clock.monotonic();
        if (clock.monotonic() + pauseMs > awaySince + limitMs) throw error;
      }
      await delay(clock, pauseMs);
    }
  };
}

/** Watching stays as it is, which looks after itself. */
export function withPatience(database: Database, patiently: Patiently): Database {
  return {
    ...database,
    write: (work, options) => patiently(() => database.write(work, options), options),
    read: (work) => patiently(() => database.read(work)),
    readSettled: (work) => patiently(() => database.readSettled(work)),
  };
}

function mayPass(error: unknown): error is HoldfastError {
  return (
    HoldfastError.isInstance(error) && (error.code === "locked" || (error.code === "board-unavailable" && error.facts.passing === true))
  );
}
