import fc from "fast-check";
import { expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { FLEETING, type OpenCall, openBench, openCall, ownerOf, PERSISTENT } from "../../test/services/lifecycle-bench.ts";
import type { SandboxDriver } from "../sandbox/driver.ts";
import type { Lease } from "./lifecycle.ts";

const IDLE_MS = 1_000;
const tasks = fc.constantFrom("t1", "t2");

const steps = fc.array(
  fc.record({
    what: fc.constantFrom("acquire", "call", "call", "finish", "release", "end turn", "reap", "force"),
    task: tasks,
    /** Whether what the step began gets time before the next one. */
    pause: fc.boolean(),
  }),
  { minLength: 4, maxLength: 14 },
);

/** Breaks off with a message when the lifecycle does what it never may. */
function createReferee() {
  const running = new Map<string, number>();
  const living = new Set<string>();
  const forcing = new Map<string, number>();
  const add = (counts: Map<string, number>, key: string, by: number) => counts.set(key, (counts.get(key) ?? 0) + by);
  const faults: string[] = [];
  return {
    faults,
    forced: (task: string) => add(forcing, task, 1),
    wasForced: (task: string) => forcing.has(task),
    forcedDone: (task: string) => add(forcing, task, -1),
    watch: (driver: SandboxDriver): SandboxDriver => ({
      ...driver,
      async create(owner, ...rest) {
        if (living.has(owner.task)) faults.push(`a second sandbox was asked for while ${owner.task} had one`);
        living.add(owner.task);
        return driver.create(owner, ...rest);
      },
      async connect(ref, ...rest) {
        const connection = await driver.connect(ref, ...rest);
        return {
          ...connection,
          async spawn(...args) {
            add(running, ref.id, 1);
            const process = await connection.spawn(...args).finally(() => add(running, ref.id, -1));
            add(running, ref.id, 1);
            const over = () => add(running, ref.id, -1);
            process.ended.then(over, over);
            return process;
          },
        };
      },
      async destroy(ref, ...rest) {
        const excused = (forcing.get(ref.owner.task) ?? 0) > 0;
        if (!excused && (running.get(ref.id) ?? 0) > 0) faults.push(`${ref.owner.task} was removed under a running call`);
        await driver.destroy(ref, ...rest);
        living.delete(ref.owner.task);
      },
    }),
  };
}

test("S23 S25 S26 S27 whatever the order: no sandbox goes under a call unless forced, none is doubled, none is left", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const referee = createReferee();
      const clock = createManualClock();
      await using bench = openBench({ clock, idleMs: IDLE_MS, decorate: referee.watch });
      const { lifecycle } = bench;
      const leases = new Map<string, Promise<Lease>>();
      const calls: { task: string; call: Promise<OpenCall> }[] = [];
      const begun: Promise<unknown>[] = [];
      // One of them keeps its files, so that no end of a turn may remove it.
      const kept = { ...PERSISTENT, persist: false };
      const acquire = (task: string) => {
        const lease = lifecycle.acquire(ownerOf(task), task === "t1" ? kept : FLEETING);
        leases.set(task, lease);
        begun.push(lease);
        return lease;
      };
      const does = {
        acquire,
        call: (task: string) => calls.push({ task, call: (leases.get(task) ?? acquire(task)).then(openCall) }),
        finish: (task: string) => void calls.find((open) => open.task === task)?.call.then(({ finish }) => finish()),
        release: (task: string) => begun.push(lifecycle.releaseTask(ownerOf(task))),
        "end turn": (task: string) => begun.push(lifecycle.endTurn(ownerOf(task))),
        reap: () => begun.push(clock.advance(IDLE_MS), lifecycle.idleReaper.runOnce()),
        force(task: string) {
          referee.forced(task);
          begun.push(lifecycle.releaseTask(ownerOf(task), { forceRemove: true }).finally(() => referee.forcedDone(task)));
        },
      };

      for (const { what, task, pause } of sequence) {
        const step = does[what](task);
        if (pause) await (step instanceof Promise ? step : new Promise(setImmediate));
      }
      for (const { task, call } of calls) {
        const { result, finish } = await call;
        finish();
        const outcome = await result.then(
          ({ exitCode }) => exitCode,
          ({ code }) => code,
        );
        if (!referee.wasForced(task)) expect(outcome).toBe(0);
        else expect([0, "sandbox-lost"]).toContain(outcome);
      }
      await Promise.all(begun);
      expect(await lifecycle.close()).toEqual({ left: [] });
      expect(referee.faults).toEqual([]);
      expect(await bench.existing()).toEqual([]);
      expect(bench.audited.filter(({ task, reason }) => task === "t1" && reason === "turn ended")).toEqual([]);
    }),
    { numRuns: 20 },
  );
}, 60_000);
