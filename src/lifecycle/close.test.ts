import { describe, expect, test, vi } from "vitest";
import { createManualClock, type ManualClock } from "../../test/helpers/manual-clock.ts";
import { createBench, createGate, FLEETING, openCall, ownerOf, PERSISTENT } from "../../test/services/lifecycle-bench.ts";
import { HoldfastError } from "../base/errors.ts";

const owner = ownerOf("t1");
const other = ownerOf("t2");
const never = () => new Promise<never>(() => {});

/** Each sandbox that is waited for has its own timer, and each running call one for its timeout. */
const untilTimers = (clock: ManualClock, count: number) => vi.waitFor(() => expect(clock.pending).toBe(count), { timeout: 60_000 });

describe("closing", () => {
  test("S23 tears everything down by its rules, waits for it, and can be repeated", async () => {
    const { lifecycle, existing, asked } = createBench();
    await lifecycle.acquire(owner, FLEETING);
    await lifecycle.acquire(other, PERSISTENT);
    const reports = await Promise.all([lifecycle.close(), lifecycle.close()]);
    expect(reports).toEqual([{ left: [] }, { left: [] }]);
    expect((await existing()).map((ref) => ref.owner.task)).toEqual(["t2"]);
    expect(await lifecycle.close()).toEqual({ left: [] });
    expect(asked.filter((what) => what.startsWith("destroy"))).toEqual(["destroy t1"]);
  });

  test("refuses every later use, through old leases too", async () => {
    const { lifecycle } = createBench();
    const lease = await lifecycle.acquire(owner, PERSISTENT);
    await lifecycle[Symbol.asyncDispose]();
    await expect(lifecycle.acquire(owner, PERSISTENT)).rejects.toMatchObject({ code: "closed" });
    await expect(lease.sandbox.run("true")).rejects.toMatchObject({ code: "closed" });
    await lease.cleanup();
  });

  test("S23 gives each sandbox the limit and names what it left", async () => {
    const clock = createManualClock();
    const destroying = createGate();
    const { lifecycle, logged } = createBench({
      clock,
      decorate: (driver) => ({
        ...driver,
        destroy(ref, options) {
          if (ref.owner.task !== "t1") return driver.destroy(ref, options);
          void destroying.pass();
          return never();
        },
      }),
    });
    await lifecycle.acquire(owner, FLEETING);
    await lifecycle.acquire(other, FLEETING);
    const closed = lifecycle.close();
    await destroying.reached;
    await untilTimers(clock, 1);
    await clock.advance(14_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    const left = ["the sandbox of task t1 was left: it was still being removed"];
    expect(await closed).toEqual({ left });
    expect(await lifecycle.close()).toEqual({ left });
    expect(logged).toContainEqual(expect.objectContaining({ level: "warn", message: left[0] }));
  });

  test("S23 names what could not be removed, and why", async () => {
    const { lifecycle } = createBench({
      decorate: (driver) => ({ ...driver, destroy: () => Promise.reject(new HoldfastError("backend-broken", "the engine is away")) }),
    });
    await lifecycle.acquire(owner, FLEETING);
    expect(await lifecycle.close()).toEqual({ left: ["the sandbox of task t1 was left: the engine is away"] });
  });

  test("tries once more what could not be removed before", async () => {
    let failures = 0;
    const { lifecycle, existing } = createBench({
      decorate: (driver) => ({
        ...driver,
        destroy: (...args) => (failures++ < 1 ? Promise.reject(new HoldfastError("backend-broken", "not now")) : driver.destroy(...args)),
      }),
    });
    await lifecycle.acquire(owner, FLEETING);
    await expect(lifecycle.endTurn(owner)).rejects.toThrow("not now");
    expect(await lifecycle.close()).toEqual({ left: [] });
    expect(await existing()).toEqual([]);
  });

  test("waits for running calls, but not longer than the limit", async () => {
    const clock = createManualClock();
    const { lifecycle, existing } = createBench({ clock });
    const [first, second] = [await lifecycle.acquire(owner, FLEETING), await lifecycle.acquire(other, PERSISTENT)];
    const [ending, staying] = [await openCall(first), await openCall(second)];
    const closed = lifecycle.close({ limitMs: 1_000 });
    ending.finish();
    expect((await ending.result).exitCode).toBe(0);
    await untilTimers(clock, 2);
    expect(await existing("t1")).toEqual([]);
    await clock.advance(1_000);
    expect(await closed).toEqual({ left: ["the sandbox of task t2 was left: a call was still running in it"] });
    staying.finish();
    await staying.result;
  });

  test("cancels openings under way", async () => {
    const begun = createGate();
    const { lifecycle } = createBench({
      decorate: (driver) => ({
        ...driver,
        create: (_owner, _spec, { signal } = {}) => {
          void begun.pass();
          return new Promise((_resolve, reject) =>
            signal?.addEventListener("abort", () => reject(new HoldfastError("aborted", "stopped"))),
          );
        },
      }),
    });
    const acquired = expect(lifecycle.acquire(owner, PERSISTENT)).rejects.toMatchObject({ code: "closed" });
    await begun.reached;
    expect(await lifecycle.close()).toEqual({ left: [] });
    await acquired;
  });

  test("what comes into being in spite of closing is let go of", async () => {
    const gate = createGate();
    const { lifecycle, existing } = createBench({
      decorate: (driver) => ({
        ...driver,
        async create(forOwner, spec) {
          await gate.pass();
          return driver.create(forOwner, spec);
        },
        connect: (ref) => driver.connect(ref),
      }),
    });
    const acquired = expect(lifecycle.acquire(owner, FLEETING)).rejects.toMatchObject({ code: "closed" });
    await gate.reached;
    const closed = lifecycle.close();
    gate.open();
    await acquired;
    expect(await closed).toEqual({ left: [] });
    expect(await existing()).toEqual([]);
  });

  test("stops the idle reaper", async () => {
    const clock = createManualClock();
    const { lifecycle } = createBench({ clock });
    await lifecycle.acquire(owner, PERSISTENT);
    expect(clock.pending).toBe(1);
    const acquired = lifecycle.acquire(owner, PERSISTENT);
    await lifecycle.close();
    // It was there before the end, and comes to nothing after it.
    await expect((await acquired).sandbox.run("true")).rejects.toMatchObject({ code: "closed" });
    expect(clock.pending).toBe(0);
  });
});
