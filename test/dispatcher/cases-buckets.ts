/** @module One case for each bucket of a pass, and for the order of its steps. */
import { expect } from "vitest";
import { emptyResult } from "../../src/dispatcher/result.ts";
import { ME, TTL_MS, WORKER } from "./bench.ts";
import { type Cases, gaveUp, runAndCrash, spawn } from "./kit.ts";

const HOUR_MS = 3_600_000;

export const bucketCases: Cases = {
  "K13 a pass over an empty board finds nothing": async ({ dispatcher }) => {
    expect(await dispatcher.runOnce("default")).toEqual(emptyResult());
  },
  "K13 spawned: by priority, then age, with assignee and workspace": async ({ dispatcher, task, store, world }) => {
    const [low, old, young] = [await task({ priority: -1 }), await task({ priority: 2 }), await task({ priority: 2, assignee: "writer" })];
    const { spawned } = await dispatcher.runOnce("default");
    expect(spawned).toEqual([
      { task: old.id, assignee: "coder", workspace: `/work/${old.id}` },
      { task: young.id, assignee: "writer", workspace: `/work/${young.id}` },
      { task: low.id, assignee: "coder", workspace: `/work/${low.id}` },
    ]);
    expect(await store.running()).toEqual({ coder: 2, writer: 1 });
    expect(world.workers.every(({ alive }) => alive)).toBe(true);
    expect((await dispatcher.runOnce("default")).spawned).toEqual([]);
  },
  "K13 K18 reclaimed: an expired claim is revoked, its worker ended, and only then is the task free": async (bench) => {
    const { dispatcher, store, clock, world } = bench;
    const task = await spawn(bench);
    await clock.advance(TTL_MS);
    const release = world.hold();
    await dispatcher.runOnce("default");
    await clock.advance(0);
    expect(await store.getTask(task.id)).toMatchObject({ status: "running" });
    await expect(store.heartbeat(task.id, world.of(task.id).token)).rejects.toMatchObject({ code: "claim-lost" });
    release();
    const result = await dispatcher.runOnce("default", { wait: true });
    expect(result.reclaimed).toEqual([task.id]);
    expect(result.spawned).toMatchObject([{ task: task.id }]);
    expect(world.history).toEqual([`launch ${task.id}`, `end ${task.id}`, `dead ${task.id}`, `launch ${task.id}`]);
    expect(await store.getTask(task.id)).toMatchObject({ failures: 0 });
  },
  "K13 reclaimed: a claim that is renewed in time stays": async (bench) => {
    const { dispatcher, clock, world } = bench;
    await spawn(bench);
    for (let times = 0; times < 4; times += 1) {
      await clock.advance(TTL_MS / 2);
      await world.beat();
      expect((await dispatcher.runOnce("default", { wait: true })).reclaimed).toEqual([]);
    }
  },
  "K13 reclaimed: a run that a person took away and did not end is ended and free again": async (bench) => {
    const { dispatcher, store, world, clock } = bench;
    const task = await spawn(bench);
    const [run] = await store.runs({ task: task.id, open: true });
    await store.revoke(run?.id ?? 0, { by: "me", reason: "I want it back" });
    expect((await dispatcher.runOnce("default", { wait: true, max: 0 })).reclaimed).toEqual([]);
    expect(world.living(task.id)).toHaveLength(1);
    await clock.advance(30_000);
    const result = await dispatcher.runOnce("default", { wait: true, max: 0 });
    expect(result.reclaimed).toEqual([task.id]);
    expect(world.living(task.id)).toEqual([]);
    expect(await store.getTask(task.id)).toMatchObject({ status: "ready" });
  },
  "K13 promoted: what is due wakes and is spawned in the same pass": async ({ dispatcher, task, clock }) => {
    const later = await task({ initial: "scheduled", scheduledFor: clock.now() + 1000 });
    expect((await dispatcher.runOnce("default")).promoted).toEqual([]);
    await clock.advance(1000);
    const result = await dispatcher.runOnce("default");
    expect(result.promoted).toEqual([later.id]);
    expect(result.spawned).toMatchObject([{ task: later.id }]);
  },
  "K10 deadline_missed: told once, and what waits for a worker gets none": async ({ dispatcher, task, store, clock }) => {
    const late = await task({ deadline: clock.now() + 1000 });
    await store.setGuard(late.id, { reason: "rate_limit", until: clock.now() + 1000 }, ME);
    await clock.advance(1000);
    expect(await dispatcher.runOnce("default")).toMatchObject({ deadline_missed: [late.id], spawned: [] });
    expect(await store.getTask(late.id)).toMatchObject({ status: "blocked", blocked: { kind: "deadline" } });
    expect((await dispatcher.runOnce("default")).deadline_missed).toEqual([]);
  },
  "K13 crashed: the error says how, with the last lines of the log": async (bench) => {
    const { dispatcher, store, world } = bench;
    const task = await spawn(bench);
    await world.exit(task.id, { code: 3 });
    const result = await dispatcher.runOnce("default", { wait: true });
    expect(result.crashed).toEqual([task.id]);
    expect(await store.getTask(task.id)).toMatchObject({
      status: "ready",
      failures: 1,
      lastError: "the worker ended with exit status 3\nthe last line",
    });
  },
  "K13 crashed: a worker whose supervisor is gone without a word": async (bench) => {
    const { dispatcher, store, world } = bench;
    const task = await spawn(bench);
    world.of(task.id).supervised = false;
    expect((await dispatcher.runOnce("default", { wait: true })).crashed).toEqual([task.id]);
    expect(world.living(task.id)).toEqual([]);
    expect(await store.getTask(task.id)).toMatchObject({ status: "ready", failures: 1 });
  },
  "K20 rate_limited: exit 75 does not count, and the task rests": async (bench) => {
    const { dispatcher, store, clock, world, settings } = bench;
    const task = await spawn(bench);
    await world.exit(task.id, { code: 75 });
    const result = await dispatcher.runOnce("default", { wait: true });
    const guard = { reason: "rate_limit", until: clock.now() + settings.cooldownMs };
    expect(result.rate_limited).toEqual([task.id]);
    expect(result.respawn_guarded).toEqual([{ task: task.id, ...guard }]);
    expect(await store.getTask(task.id)).toMatchObject({ failures: 0, guard });
  },
  "K20 reclaimed: a worker whose supervisor was stopped does not count as failed, and rests all the same": async (bench) => {
    const { dispatcher, store, world } = bench;
    const task = await spawn(bench);
    await world.exit(task.id, { code: null, signal: "SIGTERM", reason: "stopped" });
    const result = await dispatcher.runOnce("default", { wait: true });
    expect(result.reclaimed).toEqual([task.id]);
    expect(result.respawn_guarded).toMatchObject([{ task: task.id, reason: "retry_backoff" }]);
    expect(await store.getTask(task.id)).toMatchObject({ status: "ready", failures: 0 });
  },
  "K20 protocol_violation: exit 0 without a word counts on its own, and blocks at the third": async (bench) => {
    const { dispatcher, store, clock, world } = bench;
    const task = await spawn(bench);
    for (let times = 1; times <= 3; times += 1) {
      await world.exit(task.id, { code: 0 });
      const result = await dispatcher.runOnce("default", { wait: true });
      expect(result.protocol_violation).toEqual([task.id]);
      expect(result.auto_blocked).toEqual(times === 3 ? [task.id] : []);
      expect(await store.getTask(task.id)).toMatchObject({ failures: 0, violations: times });
      await clock.advance(100_000);
      await dispatcher.runOnce("default");
    }
    expect(await store.getTask(task.id)).toMatchObject({ status: "blocked", blocked: { kind: "gave_up" } });
  },
  "K20 auto_blocked: consecutive failures up to the limit, with the last error": async (bench) => {
    const { dispatcher, store, clock } = bench;
    const task = await runAndCrash(bench);
    await clock.advance(60_000);
    await dispatcher.runOnce("default");
    await bench.world.exit(task.id, { code: null, signal: "SIGSEGV" });
    const result = await dispatcher.runOnce("default", { wait: true });
    expect(result).toMatchObject({ crashed: [task.id], auto_blocked: [task.id], spawned: [] });
    const blocked = await store.getTask(task.id);
    expect(gaveUp(blocked)).toBe(true);
    expect(blocked.lastError).toContain("the worker was ended by SIGSEGV");
  },
  "K20 auto_blocked: the task's own max_retries comes first": async (bench) => {
    const task = await spawn(bench, { maxRetries: 1 });
    await bench.world.exit(task.id, { code: 1 });
    expect(await bench.dispatcher.runOnce("default", { wait: true })).toMatchObject({ auto_blocked: [task.id] });
  },
  "K20 spawn_failed: a worker that could not be started, whoever noticed": async (bench) => {
    const { dispatcher, store, world } = bench;
    world.failLaunch = "no such command";
    const task = await bench.task();
    const result = await dispatcher.runOnce("default", { wait: true });
    expect(result).toMatchObject({ spawned: [], spawn_failed: [task.id] });
    expect(await store.getTask(task.id)).toMatchObject({ status: "ready", failures: 1, lastError: "no such command" });
    world.failLaunch = null;
    const other = await spawn(bench);
    await world.exit(other.id, { code: null, reason: "start_failed", error: "not found" });
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ spawn_failed: [other.id] });
    expect(await store.getTask(other.id)).toMatchObject({ lastError: "not found" });
  },
  "K20 spawn_failed: a workspace that cannot be prepared counts": async ({ dispatcher, store, task, failing }) => {
    const { id } = await task();
    failing.workspace = "the disk is full";
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ spawned: [], spawn_failed: [id] });
    expect(await store.getTask(id)).toMatchObject({ failures: 1, lastError: "the disk is full", guard: { reason: "retry_backoff" } });
  },
  "K22 stale: long and without a heartbeat for an hour, and not one without the other": async (bench) => {
    const { dispatcher, store, clock, settings, world } = bench;
    settings.claimTtlMs = 100 * HOUR_MS;
    const task = await spawn(bench);
    await clock.advance(2 * HOUR_MS);
    expect((await dispatcher.runOnce("default", { wait: true })).stale).toEqual([]);
    await clock.advance(2 * HOUR_MS);
    await store.heartbeat(task.id, world.of(task.id).token, { ttlMs: settings.claimTtlMs });
    await clock.advance(HOUR_MS);
    expect((await dispatcher.runOnce("default", { wait: true })).stale).toEqual([]);
    await clock.advance(1);
    const result = await dispatcher.runOnce("default", { wait: true });
    expect(result).toMatchObject({ stale: [task.id], spawned: [{ task: task.id }] });
    expect(await store.getTask(task.id)).toMatchObject({ failures: 0 });
    await clock.advance(5 * HOUR_MS);
    settings.staleMs = 0;
    expect((await dispatcher.runOnce("default", { wait: true })).stale).toEqual([]);
  },
  "K22 timed_out: the task's maximum runtime, else the profile's, after its supervisor had its chance": async (bench) => {
    const { dispatcher, clock, profiles } = bench;
    profiles.coder = { ...WORKER, maxRuntimeMs: 120_000 };
    const own = await spawn(bench, { maxRuntimeMs: 60_000 });
    const other = await spawn(bench);
    await clock.advance(60_001);
    expect((await dispatcher.runOnce("default", { wait: true })).timed_out).toEqual([]);
    await clock.advance(15_000);
    expect((await dispatcher.runOnce("default", { wait: true })).timed_out).toEqual([own.id]);
    await clock.advance(60_000);
    expect((await dispatcher.runOnce("default", { wait: true })).timed_out).toEqual([other.id]);
  },
  "K22 timed_out: as its supervisor tells it": async (bench) => {
    const task = await spawn(bench);
    await bench.world.exit(task.id, { code: null, signal: "SIGKILL", reason: "timed_out" });
    expect(await bench.dispatcher.runOnce("default", { wait: true })).toMatchObject({ timed_out: [task.id], crashed: [] });
    expect(await bench.store.getTask(task.id)).toMatchObject({ failures: 1 });
  },
  "K13 a worker that lost its claim or was stopped counts as reclaimed, not as a failure": async (bench) => {
    for (const reason of ["claim_lost", "stopped"] as const) {
      const task = await spawn(bench);
      await bench.world.exit(task.id, { code: null, signal: "SIGTERM", reason });
      expect(await bench.dispatcher.runOnce("default", { wait: true })).toMatchObject({ reclaimed: [task.id] });
      expect(await bench.store.getTask(task.id)).toMatchObject({ failures: 0 });
    }
  },
  "K13 reconciled: a claim whose dispatcher died before it had started a worker": async ({ dispatcher, store, task }) => {
    const { id } = await task();
    await store.claim(id, { by: "dispatcher/dead" });
    const result = await dispatcher.runOnce("default", { wait: true });
    expect(result).toMatchObject({ reconciled: [id], crashed: [], spawned: [{ task: id }] });
    expect(await store.getTask(id)).toMatchObject({ failures: 0 });
  },
  "K13 a claim of a person is left alone until it expires": async ({ dispatcher, store, task, clock }) => {
    const { id } = await task();
    await store.claim(id, { by: "me", as: "person" });
    expect(await dispatcher.runOnce("default", { wait: true })).toEqual(emptyResult());
    await clock.advance(TTL_MS);
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ reclaimed: [id] });
  },
  "K13 skipped_unassigned and skipped_nonspawnable: expected, each with its reason, and no error": async (bench) => {
    const { dispatcher, task, store, settings, profiles, records } = bench;
    const nobody = await task({ assignee: null });
    const [lane, ghost, broken, excluded] = [
      await task({ assignee: "lane" }),
      await task({ assignee: "ghost" }),
      await task({ assignee: "broken" }),
      await task({ assignee: "writer" }),
    ];
    profiles.broken = new Error("bad yaml");
    settings.profiles = ["coder", "lane", "ghost", "broken"];
    settings.reviews = false;
    const review = await task();
    await store.requestReview(review.id, {}, ME);
    for (let times = 0; times < 2; times += 1) {
      const result = await dispatcher.runOnce("default", { wait: true });
      expect(result.skipped_unassigned).toEqual([nobody.id]);
      expect(result.skipped_nonspawnable).toEqual([
        { task: lane.id, assignee: "lane", reason: "no_command" },
        { task: ghost.id, assignee: "ghost", reason: "no_profile" },
        { task: broken.id, assignee: "broken", reason: "unreadable" },
        { task: excluded.id, assignee: "writer", reason: "not_in_dispatch_profiles" },
        { task: review.id, assignee: "coder", reason: "review_dispatch_off" },
      ]);
      expect(result.spawned).toEqual([]);
    }
    expect(records.filter(({ level }) => level === "error")).toHaveLength(1);
    expect(await store.getTask(lane.id)).toMatchObject({ failures: 0, status: "ready" });
    settings.profiles = [];
    expect((await dispatcher.runOnce("default")).skipped_nonspawnable).toHaveLength(5);
  },
  "K21 respawn_guarded: typed, with its end, and no event for each pass": async (bench) => {
    const { dispatcher, store, clock } = bench;
    const task = await runAndCrash(bench);
    const before = await store.lastEvent();
    const until = clock.now() + 10_000;
    for (let times = 0; times < 3; times += 1) {
      const result = await dispatcher.runOnce("default");
      expect(result.respawn_guarded).toEqual([{ task: task.id, reason: "retry_backoff", until }]);
    }
    expect(await store.lastEvent()).toBe(before);
    await clock.advance(10_000);
    expect((await dispatcher.runOnce("default")).spawned).toMatchObject([{ task: task.id }]);
  },
  "K10 K21 the rest doubles with each failure, up to its most, and not after being reclaimed": async (bench) => {
    const { dispatcher, store, clock, settings, world } = bench;
    settings.failureLimit = 100;
    const task = await spawn(bench);
    for (const rest of [10_000, 20_000, 40_000, 60_000, 60_000]) {
      await world.exit(task.id, { code: 1 });
      await dispatcher.runOnce("default", { wait: true });
      const { guard } = await store.getTask(task.id);
      expect(guard).toEqual({ reason: "retry_backoff", until: clock.now() + rest });
      await clock.advance(rest);
      await dispatcher.runOnce("default");
    }
    settings.backoffMs = 0;
    await world.exit(task.id, { code: 1 });
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ spawned: [{ task: task.id }] });
  },
  "K24 skipped_locked: a second dispatcher does nothing while the first leads": async ({ dispatcher, another, task }) => {
    await dispatcher.runOnce("default");
    const { id } = await task();
    const second = another("second");
    expect(await second.runOnce("default")).toEqual({ ...emptyResult(), skipped_locked: true });
    await dispatcher.stop();
    expect((await second.runOnce("default")).spawned).toMatchObject([{ task: id }]);
  },
};
