/** @module Letting go of sandboxes: by the rules of their specs, never under a running call, always accounted for. */
import type { Audit } from "../base/audit.ts";
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { Connection, SandboxDriver, SandboxRef } from "../sandbox/driver.ts";
import type { Entry, TeardownOutcome } from "./entry.ts";
import type { Registry } from "./registry.ts";

export type TeardownReason = "closed" | "asked for" | "idle" | "lost" | "not opened" | "outdated" | "pruned" | "released" | "turn ended";

/** Teardown under way, for those who wait for it or report that they could not. */
export interface PendingTeardown {
  readonly ref: SandboxRef;
  readonly done: Promise<TeardownOutcome>;
  /** What it is waiting for, as the end of a sentence. */
  readonly status: string;
}

export interface RemoveOptions {
  /** Also the files that would otherwise outlive the sandbox. */
  readonly purge?: boolean;
  /** Only if it is stopped. */
  readonly ended?: boolean;
}

export interface Teardown {
  /**
   * Closes the line to a sandbox, and removes the sandbox too unless it persists. With uses under way this happens when the last of
   * them ends, or never if somebody uses it again first. Resolves when it is done. The entry must be held.
   */
  letGo(entry: Entry, reason: TeardownReason): Promise<TeardownOutcome>;
  /** Removes the sandbox of a held entry at once, whatever its spec says and whatever runs in it. */
  forceOut(entry: Entry, options?: RemoveOptions): Promise<TeardownOutcome>;
  /** The sandbox of an entry turned out to be gone. It leaves at once; what the backend may still keep of it goes if it does not persist. */
  writeOff(entry: Entry): void;
  /** Removes a sandbox that this process does not hold. */
  remove(ref: SandboxRef, reason: TeardownReason, options?: RemoveOptions): Promise<TeardownOutcome>;
  pending(): readonly PendingTeardown[];
  /** Sandboxes that should be gone: they do not persist, but the backend failed to remove them. */
  unremoved(): readonly SandboxRef[];
}

const BEING_REMOVED = "it was still being removed";

export interface TeardownOptions {
  driver: SandboxDriver;
  registry: Registry;
  clock: Clock;
  log: Logger;
  audit: Audit;
}

export function createTeardown({ driver, registry, clock, log, audit }: TeardownOptions): Teardown {
  const pending = new Set<PendingTeardown>();
  const removals = new Map<string, Promise<TeardownOutcome>>();
  const unremoved = new Map<string, SandboxRef>();

  const track = (teardown: PendingTeardown): Promise<TeardownOutcome> => {
    pending.add(teardown);
    const forget = () => void pending.delete(teardown);
    teardown.done.then(forget, forget);
    return teardown.done;
  };

  /** The only place that ends the life of a sandbox. */
  const removeSandbox = async (ref: SandboxRef, reason: TeardownReason, options: RemoveOptions): Promise<TeardownOutcome> => {
    const about = { sandbox: ref.id, backend: ref.driver, profile: ref.owner.profile, task: ref.owner.task, reason };
    const startedAt = clock.monotonic();
    try {
      await driver.destroy(ref, options);
    } catch (error) {
      audit({ what: "removed", ...about, error: describeError(error) });
      // A forced removal is not tried again: whoever asked for it hears of the failure, and by then others may use the sandbox.
      if (reason !== "asked for") unremoved.set(ref.id, ref);
      log.error("the sandbox could not be removed", { ...about, error: describeError(error) });
      throw error;
    }
    unremoved.delete(ref.id);
    audit({ what: "removed", ...about });
    log.info("the sandbox was removed", { ...about, ms: Math.round(clock.monotonic() - startedAt) });
    return "removed";
  };

  const removeOnce = (ref: SandboxRef, reason: TeardownReason, options: RemoveOptions = {}): Promise<TeardownOutcome> => {
    const under = removals.get(ref.id);
    if (under) return under;
    const removal = removeSandbox(ref, reason, options).finally(() => removals.delete(ref.id));
    removals.set(ref.id, removal);
    registry.holdBack(ref.owner, removal);
    return removal;
  };

  const remove: Teardown["remove"] = (ref, reason, options) =>
    track({ ref, done: removeOnce(ref, reason, options), status: BEING_REMOVED });

  const closeLine = async (connection: Connection, ref: SandboxRef): Promise<void> => {
    try {
      await connection[Symbol.asyncDispose]();
    } catch (error) {
      // A line that does not close properly takes nothing away from the sandbox or its user.
      log.warn("the connection to the sandbox did not close properly", { sandbox: ref.id, error: describeError(error) });
    }
  };

  const release = async ({ ref, connection }: Entry, reason: TeardownReason): Promise<TeardownOutcome> => {
    await closeLine(connection, ref);
    log.info("the sandbox was left as it is", { sandbox: ref.id, task: ref.owner.task, reason });
    return "released";
  };

  const removeEntry = async ({ ref, connection }: Entry, reason: TeardownReason, options?: RemoveOptions): Promise<TeardownOutcome> => {
    try {
      return await removeOnce(ref, reason, options);
    } finally {
      // Not earlier: calls that a forced removal ends still speak over it.
      await closeLine(connection, ref);
    }
  };

  /** The entry leaves the registry before the slow work, so that nobody is held up by it. */
  const start = (entry: Entry, reason: TeardownReason, removes: RemoveOptions | false): Promise<TeardownOutcome> => {
    registry.drop(entry);
    if (removes) return track({ ref: entry.ref, done: removeEntry(entry, reason, removes), status: BEING_REMOVED });
    return track({ ref: entry.ref, done: release(entry, reason), status: "its connection was still being closed" });
  };

  const defer = (entry: Entry, reason: TeardownReason): Promise<TeardownOutcome> => {
    const { promise, resolve } = Promise.withResolvers<TeardownOutcome>();
    const settle = (outcome: TeardownOutcome | Promise<TeardownOutcome>) => {
      entry.deferred = null;
      resolve(outcome);
    };
    entry.deferred = {
      done: promise,
      proceed: () => settle(start(entry, reason, byRule(entry))),
      callOff: () => settle("called off"),
      overtake: settle,
    };
    return track({
      ref: entry.ref,
      done: promise,
      get status() {
        return entry.inUse > 0 ? "a call was still running in it" : BEING_REMOVED;
      },
    });
  };

  /** Whatever waited for the last use is overtaken by what happens now. */
  const startNow = (entry: Entry, reason: TeardownReason, removes: RemoveOptions | false): Promise<TeardownOutcome> => {
    const outcome = start(entry, reason, removes);
    entry.deferred?.overtake(outcome);
    return outcome;
  };

  return {
    async letGo(entry, reason) {
      if (entry.inUse > 0) return entry.deferred?.done ?? defer(entry, reason);
      return start(entry, reason, byRule(entry));
    },
    async forceOut(entry, options = {}) {
      entry.forced = true;
      return startNow(entry, "asked for", options);
    },
    writeOff(entry) {
      if (registry.holds(entry)) void startNow(entry, "lost", byRule(entry));
    },
    remove,
    pending: () => [...pending],
    unremoved: () => [...unremoved.values()].filter((ref) => !removals.has(ref.id) && !registry.knows(ref.owner)),
  };
}

/** What becomes of a sandbox when nobody says otherwise. */
function byRule({ spec }: Entry): RemoveOptions | false {
  return spec.persist ? false : {};
}
