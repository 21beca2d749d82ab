/** @module Never two live workers on one task (K18), leaders (K24), clocks that jump, and settings that change (K26). */
import { expect } from "vitest";
import { ME, TTL_MS } from "./bench.ts";
import { type Cases, spawn } from "./kit.ts";

export const safetyCases: Cases = {
  "K18 a worker that cannot be killed keeps its task, which is told once and tried again": async (bench) => {
    const { dispatcher, store, world, records, clock } = bench;
    const task = await spawn(bench);
    const worker = world.of(task.id);
    worker.immortal = true;
    await clock.advance(TTL_MS);
    for (let times = 0; times < 3; times += 1) {
      expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ reclaimed: [], spawned: [] });
      expect(await store.getTask(task.id)).toMatchObject({ status: "running" });
    }
    expect(records.filter(({ level }) => level === "error")).toHaveLength(1);
    worker.immortal = false;
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ reclaimed: [task.id], spawned: [{ task: task.id }] });
    expect(world.doubles).toEqual([]);
  },
  "K13 a database that fails between two claims costs no task: what was claimed is freed by the next pass": async (bench) => {
    const { dispatcher, store, world } = bench;
    const tasks = [await bench.task(), await bench.task()];
    const { claim } = store;
    store.claim = async (id, options) => {
      if (id === tasks[1]?.id) throw new Error("the database is gone");
      return await claim(id, options);
    };
    await expect(dispatcher.runOnce("default")).rejects.toThrow("the database is gone");
    store.claim = claim;
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ reconciled: [tasks[0]?.id] });
    for (const { id } of tasks) expect(world.living(id)).toHaveLength(1);
  },
  "K18 K20 a dispatcher that takes over in the middle of an ending ends the run as it was to be ended": async (bench) => {
    const { dispatcher, another, world, clock, store } = bench;
    const task = await spawn(bench, { maxRuntimeMs: 1000 });
    world.of(task.id).immortal = true;
    await clock.advance(60_000);
    await dispatcher.runOnce("default", { wait: true });
    await dispatcher.stop();
    world.of(task.id).immortal = false;
    expect(await another("next").runOnce("default", { wait: true })).toMatchObject({ timed_out: [task.id] });
    expect(await store.getTask(task.id)).toMatchObject({ failures: 1 });
  },
  "K18 the next run waits until the worker of the one before is gone, though that one has ended": async (bench) => {
    const { dispatcher, store, world, clock } = bench;
    const task = await spawn(bench);
    await store.requestReview(task.id, { reviewer: "writer" }, { token: world.of(task.id).token });
    const until = clock.now() + 30_000;
    const result = await dispatcher.runOnce("default");
    expect(result).toMatchObject({ spawned: [], respawn_guarded: [{ task: task.id, reason: "previous_worker", until }] });
    const woken = Promise.withResolvers<void>();
    dispatcher.onProgress(() => woken.resolve());
    Object.assign(world.of(task.id), { alive: false, supervised: false });
    await clock.advance(100);
    await woken.promise;
    expect(await dispatcher.runOnce("default")).toMatchObject({ spawned: [{ task: task.id, assignee: "writer" }] });
    expect(world.doubles).toEqual([]);
  },
  "K18 a worker that does not go by itself after its last word is ended": async (bench) => {
    const { dispatcher, store, world, clock } = bench;
    const task = await spawn(bench);
    await store.block(task.id, { reason: "help" }, { token: world.of(task.id).token });
    await store.unblock(task.id, ME);
    expect((await dispatcher.runOnce("default")).spawned).toEqual([]);
    const woken = Promise.withResolvers<void>();
    dispatcher.onProgress(() => woken.resolve());
    await clock.advance(31_000);
    await woken.promise;
    expect(world.living(task.id)).toEqual([]);
    expect(await dispatcher.runOnce("default")).toMatchObject({ spawned: [{ task: task.id }] });
  },
  "K18 what an ended run left behind without its supervisor is ended before the next one begins": async (bench) => {
    const { dispatcher, store, world } = bench;
    const task = await spawn(bench);
    await store.requestReview(task.id, {}, { token: world.of(task.id).token });
    world.of(task.id).supervised = false;
    expect(world.living(task.id)).toHaveLength(1);
    expect(await dispatcher.runOnce("default")).toMatchObject({ spawned: [{ task: task.id }] });
    expect(world.doubles).toEqual([]);
  },
  "K18 a run on another machine is left to it until its claim has been over for another time to live": async (bench) => {
    const { dispatcher, another, world, clock, store } = bench;
    const there = another("there", "other machine");
    const { id } = await bench.task();
    await there.runOnce("default");
    await there.stop();
    await clock.advance(TTL_MS);
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ elsewhere: [id], reclaimed: [], spawned: [] });
    expect(await store.runs({ task: id, open: true })).toMatchObject([{ revokedAt: null }]);
    await clock.advance(TTL_MS);
    // Its supervisor has ended it when it could not renew.
    world.of(id).alive = false;
    await clock.advance(1);
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ elsewhere: [], reclaimed: [id], spawned: [{ task: id }] });
    expect(world.doubles).toEqual([]);
  },
  "K18 the exit of a worker on another machine is taken from its supervisor": async (bench) => {
    const there = bench.another("there", "other machine");
    const { id } = await bench.task();
    await there.runOnce("default");
    await there.stop();
    await bench.world.exit(id, { code: 1 });
    expect(await bench.dispatcher.runOnce("default", { wait: true })).toMatchObject({ crashed: [id] });
  },
  "K18 a wall clock that jumps ahead ends nobody who can still renew": async (bench) => {
    const { dispatcher, world, clock, settings } = bench;
    settings.staleMs = 3_600_000;
    const task = await spawn(bench, { maxRuntimeMs: 7_200_000 });
    clock.jump(24 * 3_600_000);
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ reclaimed: [], stale: [], timed_out: [] });
    await clock.advance(15_000);
    await world.beat();
    await clock.advance(60_000);
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ reclaimed: [], stale: [], timed_out: [] });
    expect(world.living(task.id)).toHaveLength(1);
  },
  "K18 after a jump, those who do not renew are reclaimed, and the dead at once": async (bench) => {
    const { dispatcher, world, clock } = bench;
    const [stuck, dead] = [await spawn(bench), await spawn(bench)];
    clock.jump(24 * 3_600_000);
    Object.assign(world.of(dead.id), { alive: false, supervised: false });
    expect((await dispatcher.runOnce("default", { wait: true })).reclaimed).toEqual([dead.id]);
    await clock.advance(31_000);
    expect((await dispatcher.runOnce("default", { wait: true })).reclaimed).toEqual([stuck.id]);
  },
  "K18 a slow ending holds up neither the pass nor what it starts": async (bench) => {
    const { dispatcher, world, store } = bench;
    const slow = await spawn(bench);
    await world.exit(slow.id, { code: 1 });
    const release = world.hold();
    const next = await bench.task();
    const result = await dispatcher.runOnce("default");
    expect(result).toMatchObject({ crashed: [], spawned: [{ task: next.id }] });
    expect(await store.getTask(slow.id)).toMatchObject({ status: "running" });
    const woken = Promise.withResolvers<void>();
    dispatcher.onProgress(() => woken.resolve());
    release();
    await woken.promise;
    expect(await dispatcher.runOnce("default")).toMatchObject({ crashed: [slow.id] });
  },
  "K24 a second dispatcher takes over within 10 s of the first one's death": async ({ dispatcher, another, clock, task }) => {
    await dispatcher.runOnce("default");
    const { id } = await task();
    const second = another("second");
    let waited = 0;
    let result = await second.runOnce("default");
    while (result.skipped_locked) {
      await clock.advance(2000);
      waited += 2000;
      result = await second.runOnce("default");
    }
    expect(waited).toBeLessThanOrEqual(8000);
    expect(result.spawned).toMatchObject([{ task: id }]);
  },
  "K24 a leader that died before the clock was set back does not lead until the clock has caught up": async (bench) => {
    const { dispatcher, another, clock } = bench;
    await dispatcher.runOnce("default");
    clock.jump(-3_600_000);
    const second = another("second");
    const { id } = await bench.task();
    for (let waited = 0; waited <= 6000; waited += 2000) {
      expect(await second.runOnce("default")).toMatchObject({ skipped_locked: true });
      await clock.advance(2000);
    }
    expect((await second.runOnce("default")).spawned).toMatchObject([{ task: id }]);
  },
  "K24 a dispatcher that was paused notices that it no longer leads before it starts anything": async (bench) => {
    const { dispatcher, another, clock, world } = bench;
    await dispatcher.runOnce("default");
    await clock.advance(7000);
    await another("second").runOnce("default");
    await bench.task();
    expect(await dispatcher.runOnce("default")).toMatchObject({ skipped_locked: true, spawned: [] });
    expect(world.workers).toEqual([]);
  },
  "K24 one that loses the lead in the middle of a pass starts nothing more": async (bench) => {
    const { dispatcher, another, clock, world, store } = bench;
    await bench.task();
    const { waiting } = store;
    store.waiting = async (...args) => {
      store.waiting = waiting;
      const rows = await waiting(...args);
      await clock.advance(7000);
      await another("second").leadership.renew("default");
      return rows;
    };
    expect(await another("paused").runOnce("default")).toMatchObject({ spawned: [] });
    expect(world.workers).toEqual([]);
    expect(dispatcher.leadership.holds("default")).toBe(false);
  },
  "K26 settings are told at the start, bad ones are named once, and changes apply at the next pass": async (bench) => {
    const { dispatcher, settings, warnings, records, failing } = bench;
    warnings.push("kanban.max_spawn is bad");
    settings.maxPerProfile = 1;
    await bench.task();
    await bench.task();
    expect((await dispatcher.runOnce("default")).spawned).toHaveLength(1);
    expect((await dispatcher.runOnce("default")).spawned).toHaveLength(0);
    settings.maxPerProfile = 2;
    expect((await dispatcher.runOnce("default")).spawned).toHaveLength(1);
    const told = records.filter(({ level }) => level === "info" || level === "warn");
    expect(told.map(({ message }) => message)).toEqual([
      "dispatching with these settings",
      "kanban.max_spawn is bad",
      "the settings have changed",
    ]);
    expect(told[0]?.fields).toMatchObject({
      default_assignee: null,
      max_in_progress_per_profile: 1,
      max_in_progress: null,
      max_spawn: null,
    });
    failing.settings = "bad yaml";
    await dispatcher.runOnce("default");
    await dispatcher.runOnce("default");
    failing.settings = null;
    await dispatcher.runOnce("default");
    expect(records.filter(({ level }) => level === "error")).toHaveLength(1);
    expect(records.at(-1)?.message).toBe("the settings can be read again");
  },
};
