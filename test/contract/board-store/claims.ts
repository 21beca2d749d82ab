/** @module Cases: claims, fencing, failures, leaders, upkeep. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { temporaryDirectory } from "../../helpers/temporary-directory.ts";
import { type Cases, ME } from "./kit.ts";

const LOST = { code: "claim-lost" };

export const claimCases: Cases = {
  "K17 a claim opens one run, with a token that is nowhere to be read": async ({ store, create, clock, board }) => {
    const { id } = await create({ assignee: "coder" });
    const { task, run, token } = await store.claim(id, { by: "machine-1" });
    expect(task).toMatchObject({ status: "running", startedAt: clock.now() });
    expect(run).toMatchObject({ task: id, profile: "coder", claimedBy: "machine-1", expiresAt: clock.now() + 900_000, endedAt: null });
    await expect(store.claim(id, { by: "machine-2" })).rejects.toMatchObject({ code: "move-refused" });
    expect(await store.runs({ board, open: true })).toEqual([run]);
    const told = JSON.stringify([await store.runs({ board }), await store.events({ board }), await store.whyFacts(id)]);
    expect(told).not.toContain(token);
  },

  "K17 nothing is written as a run without its current token": async ({ store, taken, create, board }) => {
    const [old, other] = [await taken(), await create()];
    const { id } = old.task;
    await store.release(old.run.id, { by: "d", outcome: "reclaimed" });
    const current = await store.claim(id, { by: "d" });
    const before = await store.lastEvent();
    for (const token of [old.token, "", "0".repeat(32), (await taken()).token]) {
      const actor = { token };
      await expect(store.heartbeat(id, token)).rejects.toMatchObject(LOST);
      await expect(store.complete(id, {}, actor)).rejects.toMatchObject(LOST);
      await expect(store.block(id, { reason: "x" }, actor)).rejects.toMatchObject(LOST);
      await expect(store.requestReview(id, {}, actor)).rejects.toMatchObject(LOST);
      await expect(store.requestChanges(id, { reason: "x" }, actor)).rejects.toMatchObject(LOST);
      await expect(store.comment(id, "x", actor)).rejects.toMatchObject(LOST);
      await expect(store.addAttachment(id, { name: "a", path: "/a", contentType: "b", size: 1 }, actor)).rejects.toMatchObject(LOST);
      await expect(store.recordWorker(id, token, { pid: 1 })).rejects.toMatchObject(LOST);
      await expect(store.createTask({ title: "x", board }, { task: id, token })).rejects.toMatchObject(LOST);
      await expect(store.link(other.id, id, { task: id, token })).rejects.toMatchObject(LOST);
    }
    expect((await store.events({ since: before, board, task: id })).map(({ kind }) => kind)).toEqual([]);
    await store.complete(id, {}, { token: current.token });
    await expect(store.complete(id, { summary: "more" }, { token: current.token })).rejects.toMatchObject(LOST);
  },

  "K17 K34 whoever has no claim any more learns how its run ended, and whoever gets none who has it": async ({ store, taken, clock }) => {
    const { task, run, token } = await taken();
    const { id } = task;
    const until = new Date(run.expiresAt ?? 0).toISOString();
    await expect(store.claim(id, { by: "d" })).rejects.toMatchObject({
      message: `claim of ${id} is refused: ${run.profile} has it (run ${run.id}), until ${until}`,
      hint: expect.stringContaining(`\`holdfast kanban reclaim ${id}\``),
    });
    clock.advance((run.expiresAt ?? 0) - clock.now());
    await expect(store.claim(id, { by: "d" })).rejects.toThrow(`has it (run ${run.id}), and its claim ran out at ${until}`);
    await store.revoke(run.id, { by: "ada", reason: "slow" });
    await expect(store.claim(id, { by: "d" })).rejects.toThrow(
      `it was taken from ${run.profile} (run ${run.id}), whose worker has yet to end`,
    );
    await expect(store.complete(id, {}, { token })).rejects.toThrow(`run ${run.id} of ${id} was revoked`);
    await store.release(run.id, { by: "ada", outcome: "reclaimed" });
    const taker = { ...LOST, message: `run ${run.id} of ${id} has ended (reclaimed)`, hint: expect.stringContaining("somebody else") };
    await expect(store.heartbeat(id, token)).rejects.toMatchObject(taker);
    const again = await store.claim(id, { by: "d" });
    await store.complete(id, {}, { token: again.token });
    const done = {
      ...LOST,
      message: `run ${again.run.id} of ${id} has ended (completed)`,
      hint: expect.not.stringContaining("somebody else"),
    };
    await expect(store.block(id, { reason: "x" }, { token: again.token })).rejects.toMatchObject(done);
    await expect(store.createTask({ title: "x" }, { task: id, token: again.token })).rejects.toMatchObject(done);
    await expect(store.heartbeat(id, "0".repeat(32))).rejects.toThrow(`the token is not that of the current run of ${id}`);
  },

  "K18 whoever takes a run back says in the same moment whose the task is, or that nobody shall take it": async ({ store, taken }) => {
    const first = await taken();
    await store.revoke(first.run.id, { by: "ada", reason: "slow" });
    const given = await store.release(first.run.id, { by: "ada", outcome: "reclaimed", assignee: "editor", forgetFailures: true });
    expect(given.task).toMatchObject({ status: "ready", assignee: "editor", failures: 0 });
    const second = await store.claim(first.task.id, { by: "dispatcher/1" });
    await store.revoke(second.run.id, { by: "ada", reason: "loops" });
    const stopped = await store.release(second.run.id, { by: "ada", outcome: "reclaimed", error: "it loops", block: "it loops" });
    expect(stopped).toMatchObject({ gaveUp: false, task: { status: "blocked", blocked: { kind: null, reason: "it loops", by: "ada" } } });
    expect(await store.runs({ task: first.task.id, open: true })).toEqual([]);
    expect(await store.events({ task: first.task.id, run: second.run.id })).toMatchObject([
      { kind: "claimed" },
      { kind: "revoked" },
      { kind: "blocked" },
    ]);
  },

  "K17 a heartbeat keeps the claim, and a revoked run learns of it there": async ({ store, taken, clock, statusOf }) => {
    const { task, run, token } = await taken();
    await clock.advance(60_000);
    expect(await store.heartbeat(task.id, token, { ttlMs: 5000 })).toMatchObject({
      heartbeatAt: clock.now(),
      expiresAt: clock.now() + 5000,
    });
    expect(await store.revoke(run.id, { by: "d", reason: "expired", ifExpiredAt: clock.now() })).toBe(false);
    await clock.advance(5000);
    expect(await store.runs({ task: task.id, open: true })).toMatchObject([{ id: run.id }]);
    expect(await store.revoke(run.id, { by: "d", reason: "expired", ifExpiredAt: clock.now() })).toBe(true);
    expect(await store.revoke(run.id, { by: "d", reason: "again" })).toBe(false);
    await expect(store.heartbeat(task.id, token)).rejects.toMatchObject(LOST);
    await expect(store.complete(task.id, {}, { token })).rejects.toMatchObject(LOST);
    expect(await statusOf(task)).toBe("running");
    await store.release(run.id, { by: "d", outcome: "reclaimed" });
    expect(await statusOf(task)).toBe("ready");
    await expect(store.release(run.id, { by: "d", outcome: "reclaimed" })).rejects.toMatchObject(LOST);
  },

  "K17 what is needed to find a worker again is kept with its run": async ({ store, taken }) => {
    const { task, token } = await taken();
    await store.recordWorker(task.id, token, { pid: 7, startedAt: "boot+5" });
    expect(await store.runs({ task: task.id })).toMatchObject([{ worker: { pid: 7, startedAt: "boot+5" } }]);
  },

  "K17 the next one is the most urgent, then the oldest, and null when there is none": async ({ store, create, board }) => {
    const [old, , urgent] = [await create({ assignee: "coder" }), await create({ initial: "triage" }), await create({ priority: 1 })];
    expect((await store.claimNext({ board, by: "d", assignee: "coder" }))?.task.id).toBe(old.id);
    const young = await create();
    expect((await store.claimNext({ board, by: "d" }))?.task.id).toBe(urgent.id);
    expect((await store.claimNext({ board, by: "d" }))?.task.id).toBe(young.id);
    expect(await store.claimNext({ board, by: "d" })).toBeNull();
  },

  "K20 failures one after the other lead to blocked, with the last error": async ({ store, create, statusOf }) => {
    const { id } = await create();
    const fail = async (outcome: "crashed" | "timed_out" | "spawn_failed" | "rate_limited" | "stale", error: string) => {
      const { run } = await store.claim(id, { by: "d" });
      return await store.release(run.id, { by: "d", outcome, error });
    };
    expect(await fail("crashed", "first")).toMatchObject({ gaveUp: false, task: { status: "ready", failures: 1, lastError: "first" } });
    expect(await fail("rate_limited", "429")).toMatchObject({ gaveUp: false, task: { failures: 1 } });
    expect(await fail("stale", "silent")).toMatchObject({ gaveUp: false, task: { failures: 1 } });
    expect(await fail("spawn_failed", "last")).toMatchObject({
      gaveUp: true,
      task: { status: "blocked", failures: 2, lastError: "last", blocked: { kind: "gave_up", reason: "last", by: "d" } },
    });
    expect((await store.runs({ task: id })).map(({ outcome }) => outcome)).toEqual(["crashed", "rate_limited", "stale", "spawn_failed"]);
    expect((await store.events({ task: id })).slice(-2).map(({ kind }) => kind)).toEqual(["spawn_failed", "gave_up"]);
    expect(await store.unblock(id, ME)).toMatchObject({ status: "ready", failures: 0, blocked: null });
    expect(await statusOf({ id })).toBe("ready");
  },

  "K20 a run that ends with a word makes good what failed before; a refused completion does not count": async ({ store, create }) => {
    const { id } = await create();
    const failed = await store.claim(id, { by: "d" });
    await store.release(failed.run.id, { by: "d", outcome: "crashed" });
    const { token } = await store.claim(id, { by: "d" });
    await expect(store.complete(id, { tokens: -1 }, { token })).rejects.toMatchObject({ code: "invalid-input" });
    expect(await store.getTask(id)).toMatchObject({ status: "running", failures: 1 });
    expect(await store.requestReview(id, {}, { token })).toMatchObject({ failures: 0, lastError: null });
    const review = await store.claim(id, { by: "d" });
    await store.release(review.run.id, { by: "d", outcome: "crashed", error: "first of the review" });
    const again = await store.claim(id, { by: "d" });
    expect(again.task).toMatchObject({ failures: 1 });
    expect(await store.requestChanges(id, { reason: "no tests" }, { token: again.token })).toMatchObject({ failures: 0, lastError: null });
  },

  "K20 a guard keeps everybody off a task until its time": async ({ store, taken, clock, board }) => {
    const { task, run } = await taken();
    const guard = { reason: "rate-limited", until: clock.now() + 1000 };
    expect((await store.release(run.id, { by: "d", outcome: "rate_limited", guard })).task.guard).toEqual(guard);
    await expect(store.claim(task.id, { by: "d" })).rejects.toMatchObject({
      code: "move-refused",
      message: expect.stringContaining("rate-limited"),
    });
    expect(await store.claimNext({ board, by: "d" })).toBeNull();
    await clock.advance(1000);
    expect((await store.claim(task.id, { by: "d" })).task.guard).toBeNull();
  },

  "K24 a board has one leader, and the next one begins when its time is over or it resigns": async ({ store, board, clock }) => {
    expect(await store.lead(board, "one", { ttlMs: 1000 })).toMatchObject({ holder: "one", term: 1 });
    expect(await store.lead(board, "two", { ttlMs: 1000 })).toBeNull();
    await clock.advance(600);
    expect(await store.lead(board, "one", { ttlMs: 1000 })).toMatchObject({ term: 1, expiresAt: clock.now() + 1000 });
    await clock.advance(999);
    expect(await store.lead(board, "two", { ttlMs: 1000 })).toBeNull();
    await clock.advance(1);
    expect(await store.lead(board, "two", { ttlMs: 1000 })).toMatchObject({ holder: "two", term: 2 });
    await store.resign(board, "one");
    expect(await store.leader(board)).toMatchObject({ holder: "two" });
    await store.resign(board, "two");
    expect(await store.lead(board, "one", { ttlMs: 1000 })).toMatchObject({ holder: "one", term: 3 });
  },

  "K24 a leader that has renewed since it was looked at is not displaced": async ({ store, board, clock }) => {
    const seen = await store.lead(board, "one", { ttlMs: 1000 });
    await clock.advance(1);
    const renewed = await store.lead(board, "one", { ttlMs: 1000 });
    await store.resign(board, "one", { ifExpiresAt: seen?.expiresAt });
    expect(await store.leader(board)).toEqual(renewed);
    await store.resign(board, "one", { ifExpiresAt: renewed?.expiresAt });
    expect(await store.lead(board, "two", { ttlMs: 1000 })).toMatchObject({ holder: "two", term: 2 });
  },

  "K25 a copy is made, or the way to make one is told": async ({ store }) => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, "copy.db");
    if (store.location.startsWith("postgres:")) {
      await expect(store.backup(path)).rejects.toMatchObject({ code: "unsupported", hint: expect.stringContaining("pg_dump") });
    } else {
      await store.backup(path);
      expect(existsSync(path)).toBe(true);
    }
  },

  "K25 the check finds nothing wrong": async ({ store, taken, create }) => {
    const { task } = await taken();
    await create({ parents: [task.id] });
    expect(await store.check()).toEqual([]);
  },
};
