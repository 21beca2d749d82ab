/** @module The sandboxes that this process holds: at most one per owner, made by one creation however many ask for it. */
import { throwIfAborted, untilAborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";
import { type SharedWork, shareWork } from "../base/shared-work.ts";
import type { Abortable, Owner } from "../sandbox/driver.ts";
import type { SandboxSpec } from "../sandbox/spec.ts";
import { type Entry, keyOf } from "./entry.ts";

export interface Registry {
  /** Begins a use: opens the sandbox unless it is held, and keeps it from being torn down until `leave`. */
  enter(owner: Owner, spec: SandboxSpec, options?: Abortable): Promise<Entry>;
  /** Ends a use. */
  leave(entry: Entry): void;
  holds(entry: Entry): boolean;
  /** Whether a sandbox of this owner is held or being opened. */
  knows(owner: Owner): boolean;
  all(): Entry[];
  get(owner: Owner): Entry | undefined;
  /** Settles with the opening for this owner that is under way, if one is. */
  opening(owner: Owner): Promise<void> | undefined;
  /** Settles with the removal that openings for this owner are held back by, if there is one. */
  removal(owner: Owner): Promise<void> | undefined;
  /** Takes an entry out at once. */
  drop(entry: Entry): void;
  /** Until the removal is over, nobody opens a sandbox of this owner: the backend would hand out the one that is about to go. */
  holdBack(owner: Owner, removal: Promise<unknown>): void;
  /** From now on every `enter` is refused; openings under way are cancelled. Returns whose they are. */
  close(): Owner[];
}

export interface RegistryOptions {
  clock: Clock;
  open(owner: Owner, spec: SandboxSpec, options: { signal: AbortSignal }): Promise<Entry>;
}

export function createRegistry({ clock, open }: RegistryOptions): Registry {
  const entries = new Map<string, Entry>();
  const openings = new Map<string, { owner: Owner; work: SharedWork<Entry> }>();
  const heldBack = new Map<string, Promise<void>>();
  let closed = false;

  const begin = (owner: Owner, spec: SandboxSpec): SharedWork<Entry> => {
    const key = keyOf(owner);
    const work = shareWork(async (signal) => {
      try {
        await untilAborted(heldBack.get(key) ?? Promise.resolve(), signal, "the sandbox was not opened");
        const entry = await open(owner, spec, { signal });
        entries.set(key, entry);
        return entry;
      } finally {
        // Before anybody hears of the outcome: whoever tries again after a failure must not meet this attempt.
        openings.delete(key);
      }
    });
    openings.set(key, { owner, work });
    return work;
  };

  const join = async (work: SharedWork<Entry>, signal: AbortSignal | undefined): Promise<void> => {
    try {
      if (work.cancelled) await untilAborted(work.settled, signal, "the caller stopped waiting for the sandbox");
      else await work.join(signal);
    } catch (error) {
      throw closed ? closedError(error) : error;
    }
  };

  return {
    async enter(owner, spec, { signal } = {}) {
      for (;;) {
        if (closed) throw closedError();
        throwIfAborted(signal, `the sandbox of task ${owner.task} was not opened`);
        const entry = entries.get(keyOf(owner));
        if (entry) {
          entry.deferred?.callOff();
          entry.inUse++;
          entry.lastUsedAt = clock.monotonic();
          return entry;
        }
        await join(openings.get(keyOf(owner))?.work ?? begin(owner, spec), signal);
      }
    },
    leave(entry) {
      entry.inUse--;
      entry.lastUsedAt = clock.monotonic();
      if (entry.inUse === 0) entry.deferred?.proceed();
    },
    holds: (entry) => entries.get(entry.key) === entry,
    knows: (owner) => entries.has(keyOf(owner)) || openings.has(keyOf(owner)),
    all: () => [...entries.values()],
    get: (owner) => entries.get(keyOf(owner)),
    opening: (owner) => openings.get(keyOf(owner))?.work.settled,
    removal: (owner) => heldBack.get(keyOf(owner)),
    drop(entry) {
      if (entries.get(entry.key) === entry) entries.delete(entry.key);
    },
    holdBack(owner, removal) {
      const key = keyOf(owner);
      const all: Promise<void> = Promise.allSettled([heldBack.get(key), removal]).then(() => {
        if (heldBack.get(key) === all) heldBack.delete(key);
      });
      heldBack.set(key, all);
    },
    close() {
      closed = true;
      for (const { work } of openings.values()) work.cancel(closedError());
      return [...openings.values()].map(({ owner }) => owner);
    },
  };
}

export function closedError(cause?: unknown): HoldfastError {
  return new HoldfastError("closed", "this object was closed, so it opens no more sandboxes", { cause });
}
