/** @module One host process's view of one profile's sandboxes: who uses them, and what becomes of them afterwards. */

import type { Audit } from "../base/audit.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { TickingService } from "../base/service.ts";
import { setIdleStop } from "../sandbox/daemon/status.ts";
import type { Abortable, Owner, SandboxDriver, SandboxRef } from "../sandbox/driver.ts";
import type { OutputLimits } from "../sandbox/output/recorder.ts";
import { createSandbox, type Sandbox } from "../sandbox/sandbox.ts";
import type { SandboxSpec } from "../sandbox/spec.ts";
import { attach } from "./attach.ts";
import { type CloseReport, closeEverything } from "./close.ts";
import type { Drift, OnDrift } from "./drift.ts";
import { type Entry, keyOf } from "./entry.ts";
import { createIdleReaper, type ReapCounts } from "./idle-reaper.ts";
import { type CleanupOptions, createLease, type Lease } from "./lease.ts";
import { createRegistry } from "./registry.ts";
import { createTeardown, type RemoveOptions } from "./teardown.ts";
import { createVisits } from "./visit.ts";
import { problemWithin, untilQuiet } from "./wait.ts";

export type { CleanupOptions, CloseReport, Drift, Lease, OnDrift, ReapCounts };

/** How long `close` waits for each sandbox, in milliseconds. */
export const CLOSE_LIMIT_MS = 15_000;

export interface Lifecycle extends AsyncDisposable {
  /** The sandbox of the owner, found or made. However many ask at once, it is made once. */
  acquire(owner: Owner, spec: SandboxSpec, options?: Abortable): Promise<Lease>;
  /**
   * Nobody in this process needs the sandbox any more: the connection is closed, and the sandbox removed unless it persists; with
   * `forceRemove` removed in any case, also when this process does not hold it. Harmless when there is none.
   */
  releaseTask(owner: Owner, options?: CleanupOptions): Promise<void>;
  /** Looks into a sandbox as it is, whatever its spec: nothing is made, replaced or started. @throws `sandbox-stopped` */
  visit(ref: SandboxRef): Promise<Sandbox>;
  /** Removes a sandbox that ended long ago; what would outlive it stays. */
  prune(ref: SandboxRef): Promise<void>;
  /**
   * A turn is over: a sandbox that keeps its files is left alone, connection, processes and all, whether or not it outlives this
   * process; of any other this process lets go, by the rule of its spec.
   */
  endTurn(owner: Owner): Promise<void>;
  /** True when no teardown is pending, or none is any more before the time is up. */
  waitForCleanup(timeoutMs: number): Promise<boolean>;
  /** Releases everything, waits up to the limit for each sandbox, and says what it had to leave. A second call joins the first. */
  close(options?: { limitMs?: number }): Promise<CloseReport>;
  /** Runs by itself from the first `acquire` on. */
  readonly idleReaper: TickingService<ReapCounts>;
}

export interface LifecycleOptions {
  driver: SandboxDriver;
  clock: Clock;
  log: Logger;
  /** How long a sandbox may be unused before this process lets go of it. */
  idleMs: number;
  /** What to do with a sandbox that was made with other settings. */
  onDrift: OnDrift;
  /** @default false */
  strictDrift?: boolean;
  /** Where it is written down what became of sandboxes. */
  audit: Audit;
  limits: OutputLimits;
  defaultTimeoutMs: number;
  /** Where sessions begin: absolute inside the sandbox, or beginning with `~`. Null: in a directory that was deleted. */
  startDirectory: string | null;
  /**
   * False: no call sees what an earlier one has left in its session.
   * @default true
   */
  keepSessions?: boolean;
}

export function createLifecycle({
  driver,
  clock,
  log,
  idleMs,
  onDrift,
  strictDrift = false,
  audit,
  ...forCalls
}: LifecycleOptions): Lifecycle {
  const open = async (owner: Owner, spec: SandboxSpec, { signal }: { signal: AbortSignal }): Promise<Entry> => {
    const discard = (ref: Entry["ref"]) => teardown.remove(ref, "not opened");
    const outdated = (ref: Entry["ref"]) => teardown.remove(ref, "outdated");
    const { ref, connection, origin, drift } = await attach(owner, spec, {
      ...{ driver, log, signal, onDrift, discard, outdated },
      strict: strictDrift,
    });
    // Whoever uses it last says when it may stop. A daemon that is gone is noticed by the use itself.
    if (connection.daemon) setIdleStop(connection.daemon.link, spec.idleStopSeconds).catch(() => {});
    const sandbox = createSandbox({ ref, connection, clock, ...forCalls });
    const lastUsedAt = clock.monotonic();
    const replaces = ref.replaces ?? null;
    return {
      key: keyOf(owner),
      ref,
      spec,
      origin,
      drift,
      connection,
      sandbox,
      replaces,
      inUse: 0,
      lastUsedAt,
      deferred: null,
      forced: false,
    };
  };
  const registry = createRegistry({ clock, open });
  const teardown = createTeardown({ driver, registry, clock, log, audit });
  const idleReaper = createIdleReaper({ driver, registry, teardown, clock, log, idleMs });
  const visits = createVisits(driver, { clock, ...forCalls });
  let closing: Promise<CloseReport> | undefined;

  const removeTask = async (owner: Owner, options: RemoveOptions): Promise<void> => {
    const opening = registry.opening(owner);
    if (opening) await opening;
    const entry = registry.get(owner);
    if (entry) {
      await teardown.forceOut(entry, options);
    } else {
      // One after the other: the last one takes along what they share.
      for (const ref of await driver.list(owner)) await teardown.remove(ref, "asked for", options);
    }
  };

  const releaseTask: Lifecycle["releaseTask"] = async (owner, { forceRemove = false, purge = false } = {}) => {
    if (forceRemove) return removeTask(owner, { purge });
    const entry = registry.get(owner);
    // Those who wait for an opening are users like any other, so without an entry there is at most a removal to wait for.
    await (entry ? teardown.letGo(entry, "released") : registry.removal(owner));
  };

  const close: Lifecycle["close"] = ({ limitMs = CLOSE_LIMIT_MS } = {}) => {
    closing ??= Promise.all([closeEverything({ registry, teardown, services: [idleReaper], clock, log, limitMs }), visits.close()]).then(
      ([report]) => report,
    );
    return closing;
  };

  return {
    async acquire(owner, spec, options) {
      const entry = await registry.enter(owner, spec, options);
      if (!closing) idleReaper.start();
      registry.leave(entry);
      return createLease(entry, { owner, spec, registry, teardown, capabilities: driver.capabilities, log, release: releaseTask });
    },
    releaseTask,
    visit: visits.visit,
    prune: async (ref) => void (await teardown.remove(ref, "pruned", { ended: true })),
    async endTurn(owner) {
      const entry = registry.get(owner);
      if (entry && !entry.spec.keepFiles) await teardown.letGo(entry, "turn ended");
    },
    async waitForCleanup(timeoutMs) {
      return (await problemWithin(untilQuiet(teardown), { clock, limitMs: timeoutMs, late: () => "late" })) === null;
    },
    close,
    async [Symbol.asyncDispose]() {
      await close();
    },
    idleReaper,
  };
}
