/** @module A holder's handle on the sandbox of an owner: it follows the sandbox when that is let go of, found again or replaced. */
import { HoldfastError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { CallResult } from "../sandbox/call.ts";
import type { Abortable, Capabilities, Owner } from "../sandbox/driver.ts";
import { guardInput } from "../sandbox/feed.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type Difference, differences, type SandboxSpec } from "../sandbox/spec.ts";
import type { Drift } from "./drift.ts";
import type { Entry, Origin } from "./entry.ts";
import { projectFiles, projectProcesses, type Use } from "./project.ts";
import type { Registry } from "./registry.ts";
import { certainlyDidNotRun, inputIsWhole, isLoss, whatWasLost } from "./replace.ts";
import type { Teardown } from "./teardown.ts";

/**
 * Giving it back (`await using`) ends nothing: within a turn the next holder finds the sandbox as it was left. What does not persist
 * goes with `cleanup`, with the end of the turn if it keeps no files, when it is idle, and when the lifecycle is closed.
 */
export interface Lease extends AsyncDisposable {
  /**
   * Every use of it counts as such: while one is under way the sandbox is not torn down. If the sandbox was let go of in between, it is found
   * again or made anew, and the next result tells when it is another one.
   */
  readonly sandbox: Sandbox;
  readonly origin: Origin;
  /** In what the sandbox differs from the spec asked for. */
  readonly drift: readonly Difference[];
  /** What was found and done when this process first came to it; null also where nobody wants to hear of it. */
  readonly foundDrift: Drift | null;
  /**
   * Closes the connection, and removes the sandbox too unless it persists; with `forceRemove` removes it in any case and at once.
   * Without force it waits for calls under way. The lease stays usable: the next use opens a sandbox again.
   */
  cleanup(options?: CleanupOptions): Promise<void>;
}

export interface CleanupOptions {
  /** @default false */
  readonly forceRemove?: boolean;
  /**
   * With `forceRemove`: also the files that would otherwise outlive the sandbox.
   * @default false
   */
  readonly purge?: boolean;
}

export interface LeaseOptions {
  owner: Owner;
  spec: SandboxSpec;
  registry: Registry;
  teardown: Teardown;
  capabilities: Capabilities;
  log: Logger;
  release(owner: Owner, options: CleanupOptions): Promise<void>;
}

interface Used<T> {
  readonly value: T;
  readonly sandboxId: string;
}

export function createLease(first: Entry, { owner, spec, registry, teardown, capabilities, log, release }: LeaseOptions): Lease {
  let current = first;
  // The sandbox that the holder believes to be in; null when the holder itself gave it up.
  let believed: string | null = first.replaces ?? first.ref.id;
  first.replaces = null;
  let givenBack = false;

  const enter = async (options: Abortable): Promise<Entry> => {
    if (givenBack)
      throw new HoldfastError("closed", `the lease on the sandbox of task ${owner.task} was given back`, { facts: { ...owner } });
    current = await registry.enter(owner, spec, options);
    return current;
  };

  /** What a failure in this sandbox means; a sandbox that is lost is written off. */
  const judge = (entry: Entry, error: unknown): unknown => {
    if (entry.forced) return forcedOut(entry, error);
    if (isLoss(error)) teardown.writeOff(entry);
    return error;
  };

  /** One try in the sandbox that is there now. */
  const tryOnce = async <T>({ signal, action, lasts }: Use<T>): Promise<Used<T>> => {
    const entry = await enter(signal ? { signal } : {});
    let lasting: Promise<unknown> | undefined;
    try {
      const value = await action(entry);
      lasting = lasts?.(value).catch((error: unknown) => judge(entry, error));
      return { value, sandboxId: entry.ref.id };
    } catch (error) {
      throw judge(entry, error);
    } finally {
      if (lasting) void lasting.finally(() => registry.leave(entry));
      else registry.leave(entry);
    }
  };

  /** Repeats once in a new sandbox, and only what certainly has not begun in the lost one, or changes nothing. */
  const use = async <T>(request: Use<T>): Promise<Used<T>> => {
    try {
      return await tryOnce(request);
    } catch (error) {
      if (request.mayRepeat?.() === false || !mayBeRepeated(error, request.looks)) throw error;
      return await tryOnce(request);
    }
  };
  const mayBeRepeated = (error: unknown, looks = false): boolean => {
    if (!isLoss(error)) return false;
    const stays = error.facts.forced === true || error.facts.abandoned === true;
    if (!certainlyDidNotRun(error) && (!looks || stays)) return false;
    log.info("the sandbox is gone; a new one takes its place", { task: owner.task, ...error.facts });
    return true;
  };

  /** A use that lasts until the iteration ends. */
  async function* iterate<T>(open: (sandbox: Sandbox) => AsyncIterable<T>, signal?: AbortSignal): AsyncGenerator<T, void> {
    let begun = false;
    for (let again = true; ; again = false) {
      const entry = await enter(signal ? { signal } : {});
      try {
        for await (const item of open(entry.sandbox)) {
          begun = true;
          yield item;
        }
        return;
      } catch (error) {
        const reason = judge(entry, error);
        if (begun || !again || !mayBeRepeated(reason, true)) throw reason;
      } finally {
        registry.leave(entry);
      }
    }
  }
  const perform = async <T>(request: Use<T>): Promise<T> => (await use(request)).value;

  const sandbox: Sandbox = {
    get ref() {
      return current.ref;
    },
    async run(command, options = {}): Promise<CallResult> {
      using _guard = guardInput(options.stdin);
      const before = believed;
      const { value, sandboxId } = await use({
        signal: options.signal,
        mayRepeat: () => inputIsWhole(options.stdin),
        async action(entry) {
          const result = await entry.sandbox.run(command, options);
          if (entry.forced && result.signal !== null) throw new HoldfastError("sandbox-lost", `${result.signal} ended the command's shell`);
          return result;
        },
      });
      // Only now: a holder whose call failed has not been told, and hears of it with the next result.
      believed = sandboxId;
      return before === null || before === sandboxId ? value : { ...value, replaced: { lost: whatWasLost(capabilities, spec) } };
    },
    sessions: {
      list: () => perform({ looks: true, action: ({ sandbox }) => sandbox.sessions.list() }),
      remove: (name) => perform({ action: ({ sandbox }) => sandbox.sessions.remove(name) }),
    },
    processes: projectProcesses(perform, iterate),
    files: projectFiles(perform),
    status: () => perform({ looks: true, action: ({ sandbox }) => sandbox.status() }),
  };

  return {
    sandbox,
    origin: first.origin,
    foundDrift: first.drift,
    get drift() {
      return differences(current.ref, spec);
    },
    async cleanup(options = {}) {
      believed = null;
      await release(owner, options);
    },
    async [Symbol.asyncDispose]() {
      givenBack = true;
    },
  };
}

/** Backends differ in what a call sees of a forced removal: a signal that ended its shell, a file that is not there; never the reason. */
function forcedOut({ ref }: Entry, cause: unknown): HoldfastError {
  return new HoldfastError("sandbox-lost", `the sandbox of task ${ref.owner.task} was removed while the command ran`, {
    facts: { sandbox: ref.id, mayHaveRun: true, forced: true },
    cause,
  });
}
