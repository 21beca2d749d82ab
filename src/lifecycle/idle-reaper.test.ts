import { describe, expect, test, vi } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import {
  type BenchOptions,
  createBench,
  createGate,
  FLEETING,
  openCall,
  ownerOf,
  PERSISTENT,
} from "../../test/services/lifecycle-bench.ts";
import { HoldfastError } from "../base/errors.ts";

const IDLE_MS = 300_000;
const owner = ownerOf("t1");
const other = ownerOf("t2");

function createReaperBench(options?: BenchOptions) {
  const clock = createManualClock();
  const bench = createBench({ clock, idleMs: IDLE_MS, ...options });
  return {
    ...bench,
    clock,
    /** One round after the time has passed, without the ones that would come by themselves meanwhile. */
    async reapAfter(ms: number) {
      await bench.lifecycle.idleReaper.stop();
      await clock.advance(ms);
      return bench.lifecycle.idleReaper.runOnce();
    },
  };
}

describe("the idle reaper", () => {
  test("S27 removes what does not persist, and only lets go of what does", async () => {
    const { reapAfter, lifecycle, existing, asked } = createReaperBench();
    await lifecycle.acquire(owner, FLEETING);
    await lifecycle.acquire(other, PERSISTENT);
    expect(await reapAfter(IDLE_MS - 1)).toEqual({ examined: 2, released: 0, removed: 0, skippedBusy: 0 });
    expect(await reapAfter(1)).toEqual({ examined: 2, released: 1, removed: 1, skippedBusy: 0 });
    expect((await existing()).map((ref) => ref.owner.task)).toEqual(["t2"]);
    expect((await lifecycle.acquire(other, PERSISTENT)).origin).toBe("found");
    expect(asked.filter((what) => what.startsWith("destroy"))).toEqual(["destroy t1"]);
  });

  test("S27 works by itself once a sandbox was acquired, and logs why", async () => {
    const { clock, lifecycle, existing, logged } = createReaperBench();
    await lifecycle.acquire(owner, FLEETING);
    for (let minute = 1; minute <= 5; minute++) {
      expect(await existing()).toHaveLength(1);
      await clock.advance(60_000);
      // The round has begun with the tick; this one joins it.
      await lifecycle.idleReaper.runOnce();
    }
    expect(await existing()).toEqual([]);
    expect(logged).toContainEqual(
      expect.objectContaining({ message: "the sandbox was removed", fields: expect.objectContaining({ reason: "idle", task: "t1" }) }),
    );
  });

  test("S27 a call counts from its start to its end, however long it takes", async () => {
    const { clock, reapAfter, lifecycle, existing } = createReaperBench();
    const lease = await lifecycle.acquire(owner, FLEETING);
    await clock.advance(IDLE_MS - 1);
    const call = await openCall(lease);
    expect(await reapAfter(59_000)).toMatchObject({ removed: 0, skippedBusy: 1 });
    call.finish();
    expect((await call.result).exitCode).toBe(0);
    expect(await reapAfter(IDLE_MS - 1)).toMatchObject({ removed: 0, skippedBusy: 0 });
    expect(await reapAfter(1)).toMatchObject({ removed: 1 });
    expect(await existing()).toEqual([]);
  });

  test("S27 a process in the sandbox keeps it, and the time without use begins when it has ended", async () => {
    const { reapAfter, lifecycle, driver, existing } = createReaperBench();
    const lease = await lifecycle.acquire(owner, FLEETING);
    await lease.sandbox.run("sleep 600 >/dev/null 2>&1 & echo $! >pid");
    expect(await reapAfter(IDLE_MS)).toMatchObject({ examined: 1, removed: 0, skippedBusy: 1 });
    await lease.sandbox.run('kill -9 "$(<pid)"');
    await vi.waitFor(async () => expect(await driver.activity?.(lease.sandbox.ref)).toEqual([]), { timeout: 60_000 });
    expect(await reapAfter(IDLE_MS - 1)).toMatchObject({ removed: 0, skippedBusy: 0 });
    expect(await reapAfter(1)).toMatchObject({ removed: 1 });
    expect(await existing()).toEqual([]);
  });

  test("S27 what cannot be asked whether something runs in it stays, and the others are looked at all the same", async () => {
    const { reapAfter, lifecycle, existing, logged } = createReaperBench({
      decorate: (driver) => ({
        ...driver,
        activity: async (ref) => {
          if (ref.owner.task === "t1") throw new HoldfastError("backend-broken", "no answer");
          return [];
        },
      }),
    });
    await lifecycle.acquire(owner, FLEETING);
    await lifecycle.acquire(other, FLEETING);
    expect(await reapAfter(IDLE_MS)).toEqual({ examined: 2, released: 0, removed: 1, skippedBusy: 1 });
    expect((await existing()).map((ref) => ref.owner.task)).toEqual(["t1"]);
    expect(logged).toContainEqual(expect.objectContaining({ level: "warn", fields: expect.objectContaining({ error: "no answer" }) }));
  });

  test("S27 a driver that cannot tell what runs is judged by its calls alone", async () => {
    const { reapAfter, lifecycle, existing } = createReaperBench({
      decorate: ({ activity: _, ...driver }) => driver,
    });
    await lifecycle.acquire(owner, FLEETING);
    expect(await reapAfter(IDLE_MS)).toMatchObject({ removed: 1 });
    expect(await existing()).toEqual([]);
  });

  test("S27 a use that begins while the reaper asks saves the sandbox", async () => {
    const gate = createGate();
    const { reapAfter, lifecycle, existing } = createReaperBench({
      decorate: (driver) => ({
        ...driver,
        activity: async () => {
          await gate.pass();
          return [];
        },
      }),
    });
    const lease = await lifecycle.acquire(owner, FLEETING);
    const round = reapAfter(IDLE_MS);
    await gate.reached;
    const call = await openCall(lease);
    gate.open();
    expect(await round).toMatchObject({ removed: 0 });
    call.finish();
    expect((await call.result).replaced).toBeNull();
    expect(await existing()).toHaveLength(1);
  });

  test("S27 what is let go of while the reaper asks is no longer its business", async () => {
    const gate = createGate();
    const { reapAfter, lifecycle, asked } = createReaperBench({
      decorate: (driver) => ({
        ...driver,
        activity: async () => {
          await gate.pass();
          return [];
        },
      }),
    });
    await lifecycle.acquire(owner, FLEETING);
    const round = reapAfter(IDLE_MS);
    await gate.reached;
    await lifecycle.endTurn(owner);
    gate.open();
    expect(await round).toMatchObject({ examined: 1, removed: 0 });
    expect(asked.filter((what) => what.startsWith("destroy"))).toEqual(["destroy t1"]);
  });

  test("S27 a change of the wall clock makes nothing idle", async () => {
    const clock = createManualClock();
    let wall = clock.now();
    const { lifecycle } = createBench({ clock: { ...clock, now: () => wall }, idleMs: IDLE_MS });
    await lifecycle.acquire(owner, FLEETING);
    await lifecycle.idleReaper.stop();
    wall += 365 * 24 * 3_600_000;
    expect(await lifecycle.idleReaper.runOnce()).toMatchObject({ removed: 0 });
    wall = 0;
    await clock.advance(IDLE_MS);
    expect(await lifecycle.idleReaper.runOnce()).toMatchObject({ removed: 1 });
  });
});
