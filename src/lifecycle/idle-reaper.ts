/** @module Lets go of sandboxes that nobody has used for a while. */
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { createTickingService, type TickingService } from "../base/service.ts";
import type { SandboxDriver, SandboxRef } from "../sandbox/driver.ts";
import type { Entry } from "./entry.ts";
import type { Registry } from "./registry.ts";
import type { Teardown } from "./teardown.ts";

const LONGEST_INTERVAL_MS = 60_000;
/** Without a time to wait for, looking again and again would be all that the process does. */
const SHORTEST_INTERVAL_MS = 1000;

export interface ReapCounts {
  readonly examined: number;
  /** Only the connection was closed: the sandbox persists. */
  readonly released: number;
  readonly removed: number;
  /** Something runs in it, or it could not be found out whether something does. */
  readonly skippedBusy: number;
}

export interface IdleReaperOptions {
  driver: SandboxDriver;
  registry: Registry;
  teardown: Teardown;
  clock: Clock;
  log: Logger;
  /** How long a sandbox may be unused. */
  idleMs: number;
  /** @default `idleMs`, at least a second and at most a minute */
  intervalMs?: number;
}

type Verdict = "fresh" | "busy" | "released" | "removed";

export function createIdleReaper(options: IdleReaperOptions): TickingService<ReapCounts> {
  const {
    driver,
    registry,
    teardown,
    clock,
    log,
    idleMs,
    intervalMs = Math.min(Math.max(idleMs, SHORTEST_INTERVAL_MS), LONGEST_INTERVAL_MS),
  } = options;

  const isUnused = (entry: Entry) => registry.holds(entry) && entry.inUse === 0 && clock.monotonic() - entry.lastUsedAt >= idleMs;

  const examine = async (entry: Entry): Promise<Verdict> => {
    if (entry.inUse > 0) return "busy";
    if (!isUnused(entry)) return "fresh";
    if (await mayBeBusy(entry)) return "busy";
    // Asking took a while, in which somebody may have come.
    if (!isUnused(entry)) return "fresh";
    return verdictOf(teardown.letGo(entry, "idle"));
  };

  const mayBeBusy = async (entry: Entry): Promise<boolean> => {
    try {
      const running = (await driver.activity?.(entry.ref)) ?? [];
      // The time without use begins when the last process has ended.
      if (running.length > 0) entry.lastUsedAt = clock.monotonic();
      return running.length > 0;
    } catch (error) {
      log.warn("cannot tell what runs in the sandbox, so it stays", { sandbox: entry.ref.id, error: describeError(error) });
      return true;
    }
  };

  return createTickingService({
    name: "idle reaper",
    intervalMs,
    clock,
    log,
    async round() {
      const verdicts = await Promise.all([
        ...registry.all().map(examine),
        ...teardown.unremoved().map((ref: SandboxRef) => verdictOf(teardown.remove(ref, "idle"))),
      ]);
      const count = (verdict: Verdict) => verdicts.filter((other) => other === verdict).length;
      return { examined: verdicts.length, released: count("released"), removed: count("removed"), skippedBusy: count("busy") };
    },
  });
}

async function verdictOf(work: ReturnType<Teardown["letGo"]>): Promise<Verdict> {
  try {
    const outcome = await work;
    return outcome === "called off" ? "fresh" : outcome;
  } catch {
    // A failed removal has been logged where it happened; one must not spoil the round for the others, and the next round tries again.
    return "fresh";
  }
}
