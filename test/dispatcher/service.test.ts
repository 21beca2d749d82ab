import { describe, expect, test } from "vitest";
import { createLogger } from "../../src/base/log.ts";
import { createDispatchService } from "../../src/dispatcher/dispatch-service.ts";
import type { DispatchResult } from "../../src/dispatcher/result.ts";
import { type Bench, ME, openBench } from "./bench.ts";

describe("the dispatch service", () => {
  test("K23 a task that becomes ready wakes it, without a tick", async () => {
    await using bench = await openBench();
    await using service = await startService(bench);
    await service.passOf("default");
    const { id } = await bench.task();
    await service.until(() => bench.world.living(id).length === 1);
    expect(service.ticks()).toBe(0);
  });

  test("K23 many changes during a pass are one pass after it", async () => {
    await using bench = await openBench();
    await using service = await startService(bench);
    await service.passOf("default");
    bench.settings.maxSpawn = 1;
    const before = service.passes.length;
    for (let count = 0; count < 50; count += 1) await bench.task();
    await service.until(() => bench.world.workers.length === 1);
    expect(service.passes.length - before).toBeLessThan(50);
  });

  test("K23 the tick is a backstop", async () => {
    await using bench = await openBench();
    bench.store.watch = async () => ({ [Symbol.asyncDispose]: async () => {} });
    await using service = await startService(bench);
    await service.passOf("default");
    const { id } = await bench.task();
    await bench.clock.advance(bench.settings.intervalMs - 1);
    expect(bench.world.living(id)).toEqual([]);
    await bench.clock.advance(1);
    await service.until(() => bench.world.living(id).length === 1);
  });

  test("K10 K23 a scheduled task and the end of a guard come at their time, not at the next tick", async () => {
    await using bench = await openBench();
    bench.settings.intervalMs = 3_600_000;
    const later = await bench.task({ initial: "scheduled", scheduledFor: bench.clock.now() + 5000 });
    const guarded = await bench.task();
    await bench.store.setGuard(guarded.id, { reason: "rate_limit", until: bench.clock.now() + 9000 }, ME);
    await using service = await startService(bench);
    await service.passOf("default");
    await service.advanceUntil(5000, () => bench.world.living(later.id).length === 1);
    expect(bench.world.living(guarded.id)).toEqual([]);
    await service.advanceUntil(4000, () => bench.world.living(guarded.id).length === 1);
  });

  test("K23 a time that comes while a pass goes on is not slept through", async () => {
    await using bench = await openBench();
    bench.settings.intervalMs = 3_600_000;
    const { id } = await bench.task({ initial: "scheduled", scheduledFor: bench.clock.now() + 50 });
    const { waiting } = bench.store;
    let slow = true;
    bench.store.waiting = async (...args) => {
      if (slow) await bench.clock.advance(100);
      slow = false;
      return await waiting(...args);
    };
    await using service = await startService(bench);
    await service.passOf("default");
    await service.advanceUntil(1000, () => bench.world.living(id).length === 1);
  });

  test("K23 a time that has come on another leader's board does not hide those of our own", async () => {
    await using bench = await openBench();
    bench.settings.intervalMs = 3_600_000;
    await bench.store.createBoard("theirs", ME);
    await bench.another("other").runOnce("theirs");
    const { nextTime } = bench.store;
    const past = bench.clock.now() - 1;
    bench.store.nextTime = async (board) => (board === "theirs" ? past : await nextTime(board));
    const { id } = await bench.task({ initial: "scheduled", scheduledFor: bench.clock.now() + 5000 });
    await using service = await startService(bench);
    await service.passOf("default");
    await service.advanceUntil(5000, () => bench.world.living(id).length === 1);
  });

  test("all boards are served, also those that are made later", async () => {
    await using bench = await openBench();
    await using service = await startService(bench);
    await service.passOf("default");
    await bench.store.createBoard("late", ME);
    const { id } = await bench.task({ board: "late" });
    await service.until(() => bench.world.living(id).length === 1);
  });

  test("K25 a board in trouble is told once and does not stop the others", async () => {
    await using bench = await openBench();
    await bench.store.createBoard("bad", ME);
    const { waiting } = bench.store;
    let broken = true;
    bench.store.waiting = async (board, options) => {
      if (board === "bad" && broken) throw new Error("the file is damaged");
      return await waiting(board, options);
    };
    await using service = await startService(bench);
    for (let times = 0; times < 3; times += 1) {
      const { id } = await bench.task();
      await service.until(() => bench.world.living(id).length === 1);
    }
    const troubles = () => bench.records.filter(({ level, message }) => level === "error" && message.includes("bad"));
    expect(troubles().map(({ message }) => message)).toEqual(["dispatching on board bad failed: the file is damaged"]);
    broken = false;
    const { id } = await bench.task({ board: "bad" });
    await service.until(() => bench.world.living(id).length === 1);
    expect(troubles()).toHaveLength(1);
  });

  test("K24 stopping it lets another one lead at once, and leaves the workers alone", async () => {
    await using bench = await openBench();
    const service = await startService(bench);
    const { id } = await bench.task();
    await service.until(() => bench.world.living(id).length === 1);
    await service[Symbol.asyncDispose]();
    expect(bench.clock.pending).toBe(0);
    expect(bench.world.living(id)).toHaveLength(1);
    expect((await bench.another("next").runOnce("default")).skipped_locked).toBe(false);
  });

  test("K24 a second service takes over when the first one no longer renews", async () => {
    await using bench = await openBench();
    await bench.dispatcher.runOnce("default");
    await using service = await startService(bench, bench.another("second"));
    expect((await service.passOf("default")).skipped_locked).toBe(true);
    const { id } = await bench.task();
    await service.advanceUntil(10_000, () => bench.world.living(id).length === 1);
  });

  test("K18 one that was stopped and started again still waits for earlier workers, and ends them", async () => {
    await using bench = await openBench();
    await using running = await startService(bench);
    await running.passOf("default");
    await running.service.stop();
    running.service.start();
    const { id } = await bench.task();
    await running.until(() => bench.world.living(id).length === 1);
    await bench.store.block(id, { reason: "help" }, { token: bench.world.of(id).token });
    await bench.store.unblock(id, ME);
    await running.advanceUntil(40_000, () => bench.world.workers.filter(({ task }) => task === id).length === 2);
    expect(bench.world.doubles).toEqual([]);
  });

  test("K18 an earlier worker that could not be ended is tried again after some seconds, not at the next tick", async () => {
    await using bench = await openBench();
    bench.settings.intervalMs = 3_600_000;
    await using running = await startService(bench);
    await running.passOf("default");
    const { id } = await bench.task();
    await running.until(() => bench.world.living(id).length === 1);
    const first = bench.world.of(id);
    first.immortal = true;
    await bench.store.block(id, { reason: "help" }, { token: first.token });
    await bench.store.unblock(id, ME);
    await running.until(() => running.passes.some(({ result }) => result.respawn_guarded.length > 0));
    const refused = () => bench.records.some(({ message }) => message.includes("could not be ended"));
    for (let passed = 0; passed < 60 && !refused(); passed += 1) await bench.clock.advance(1000);
    expect(refused()).toBe(true);
    first.immortal = false;
    await running.advanceUntil(10_000, () => bench.world.workers.filter(({ task }) => task === id).length === 2);
    expect(bench.world.doubles).toEqual([]);
  });

  test("K23 each time that the watch is impaired is told, also when it is for the same reason", async () => {
    await using bench = await openBench();
    let signal: () => void = () => {};
    let fail: (error: unknown) => void = () => {};
    bench.store.watch = async (listener, { onError = () => {} } = {}) => {
      [signal, fail] = [listener, onError];
      return { [Symbol.asyncDispose]: async () => {} };
    };
    await using service = await startService(bench);
    await service.passOf("default");
    const told = () => bench.records.filter(({ message }) => /impaired|tell of changes/.test(message)).map(({ level }) => level);
    fail(new Error("gone"));
    fail(new Error("gone"));
    expect(told()).toEqual(["warn"]);
    signal();
    signal();
    fail(new Error("gone"));
    expect(told()).toEqual(["warn", "info", "warn"]);
  });

  test("starting twice and stopping twice are harmless", async () => {
    await using bench = await openBench();
    const { service } = await startService(bench);
    service.start();
    await Promise.all([service.stop(), service.stop()]);
    await service.stop();
    expect(bench.clock.pending).toBe(0);
  });
});

async function startService(bench: Bench, dispatcher = bench.dispatcher) {
  const { store, clock, records } = bench;
  const passes: { board: string; result: DispatchResult }[] = [];
  const listeners = new Set<() => void>();
  const startedAt = clock.monotonic();
  const service = createDispatchService({
    store,
    dispatcher,
    settings: bench.readSettings,
    clock,
    log: createLogger({ clock, level: "debug", sink: (record) => records.push(record) }),
    onPass(board, result) {
      passes.push({ board, result });
      for (const listener of listeners) listener();
    },
  });
  /** After each pass, so that nothing is polled. */
  const until = (condition: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!condition()) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
    });
  service.start();
  return {
    service,
    passes,
    until,
    ticks: () => clock.monotonic() - startedAt,
    async passOf(board: string): Promise<DispatchResult> {
      await until(() => passes.some((pass) => pass.board === board));
      const found = passes.find((pass) => pass.board === board);
      if (found === undefined) throw new Error("unreachable");
      // Its timers are set when the round is over.
      await clock.advance(0);
      await clock.advance(0);
      return found.result;
    },
    async advanceUntil(ms: number, condition: () => boolean): Promise<void> {
      for (let passed = 0; passed < ms; passed += 1000) await clock.advance(1000);
      await until(condition);
    },
    [Symbol.asyncDispose]: () => service.stop(),
  };
}
