/** @module Cases: what a dispatcher needs of the store: being woken, what waits, what runs, guards, how workers ended. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { expect } from "vitest";
import { exitOf } from "../../../src/board/exit.ts";
import { createBell } from "../../helpers/bell.ts";
import { type Cases, type Kit, ME } from "./kit.ts";

const CREATOR = join(import.meta.dirname, "../../board/creator.ts");

export const dispatchCases: Cases = {
  "K30 directories that unfinished tasks name are told once, and those of finished ones not at all": async ({ store, create, board }) => {
    const named = async (workspace: string) => (await store.namedPlaces()).filter((place) => place.workspace === workspace);
    const [one, two] = [await create({ workspace: "dir:/named/here" }), await create({ workspace: "dir:/named/here" })];
    expect(await named("dir:/named/here")).toEqual([
      { workspace: "dir:/named/here", defaultWorkdir: null, task: [one.id, two.id].sort()[0] },
    ]);
    await store.complete(one.id, {}, ME);
    expect(await named("dir:/named/here")).toMatchObject([{ task: two.id }]);
    await store.archive(two.id, ME);
    expect(await named("dir:/named/here")).toEqual([]);
    await store.editBoard(board, { defaultWorkdir: "/of/the/board", by: "me" });
    const tree = await create({ workspace: "worktree" });
    expect(await named("worktree")).toContainEqual({ workspace: "worktree", defaultWorkdir: "/of/the/board", task: tree.id });
    await create();
    expect(await named("scratch")).toEqual([]);
  },

  "K23 whoever watches is woken by a task that another process makes": async (kit) => {
    const { store, board } = kit;
    const bell = createBell();
    await using _watch = await store.watch(bell.ring);
    const id = await createElsewhere(kit);
    await bell.until(() => bell.rings > 0);
    expect(await store.waiting(board)).toMatchObject([{ id }]);
  },

  "K23 every change that makes work wakes, also while many come at once": async ({ store, create, board }) => {
    const bell = createBell();
    await using _watch = await store.watch(bell.ring);
    const seen = new Set<string>();
    const look = async () => {
      for (const { id } of await store.waiting(board)) seen.add(id);
      return seen.size === 20;
    };
    const all = bell.until(look);
    for (let count = 0; count < 20; count += 1) await create();
    await all;
    expect(bell.rings).toBeLessThanOrEqual(20);
  },

  "K23 heartbeats and leaders wake nobody; a free place, a revocation and a time to come do": async ({ store, taken, board, clock }) => {
    const [one, two] = [await taken(), await taken()];
    const bell = createBell();
    await using _watch = await store.watch(bell.ring);
    const wakes = async (change: () => Promise<unknown>) => {
      const before = bell.rings;
      await change();
      await bell.until(() => bell.rings > before);
    };
    await wakes(() => store.recordExit(two.run.id, { code: 0, signal: null, reason: "exited" }));
    await wakes(() => store.revoke(two.run.id, { by: "d", reason: "x" }));
    const before = bell.rings;
    for (let count = 0; count < 50; count += 1) {
      await store.heartbeat(one.task.id, one.token);
      await store.lead(board, "me", { ttlMs: 1000 });
      // What the first of them would have rung comes while the others are written.
      await setImmediate();
    }
    expect(bell.rings).toBe(before);
    await wakes(() => store.complete(one.task.id, {}, { token: one.token }));
    await wakes(() => store.createTask({ title: "later", board, initial: "scheduled", scheduledFor: clock.now() + 1000 }, ME));
  },

  "K10 K23 a deadline wakes, of a new task that nobody can take yet as well as another one of an old task": async (kit) => {
    const { store, create, clock } = kit;
    const parent = await create();
    const bell = createBell();
    await using _watch = await store.watch(bell.ring);
    const wakes = async <T>(change: () => Promise<T>) => {
      const before = bell.rings;
      const result = await change();
      await bell.until(() => bell.rings > before);
      return result;
    };
    const deadline = clock.now() + 1000;
    await wakes(() => create({ initial: "triage", deadline }));
    const { id } = await wakes(() => create({ parents: [parent.id], deadline }));
    await wakes(() => store.editTask(id, { deadline: deadline + 1 }, ME));
  },

  "K23 whoever wants every event is woken by each, and nobody after the end of the watch": async ({ store, create }) => {
    const { id } = await create();
    const bell = createBell();
    const watch = await store.watch(bell.ring, { every: 20 });
    await store.comment(id, "a word", ME);
    await bell.until(() => bell.rings > 0);
    await watch[Symbol.asyncDispose]();
    const { rings } = bell;
    await create();
    const other = createBell();
    await using _other = await store.watch(other.ring);
    await create();
    await other.until(() => other.rings > 0);
    expect(bell.rings).toBe(rings);
  },

  "K23 what waits comes in the order in which it is taken, and only what can be": async ({ store, create, taken, board }) => {
    const [first, second] = [await create({ assignee: "coder", workspace: "worktree", maxRuntimeMs: 5 }), await create()];
    const urgent = await create({ priority: 5 });
    await store.requestReview(urgent.id, { reviewer: "critic" }, ME);
    const low = await create({ priority: -1 });
    await taken();
    for (const initial of ["triage", "blocked"] as const) await create({ initial });
    await create({ parents: [first.id] });
    const all = await store.waiting(board);
    expect(all.map(({ id }) => id)).toEqual([urgent, first, second, low].map(({ id }) => id));
    expect(all[0]).toMatchObject({ status: "review", phase: "review", assignee: "critic", priority: 5 });
    const { seq } = first;
    const shared = { priority: 0, status: "ready", phase: "work", guard: null, fromSandbox: false } as const;
    expect(all[1]).toEqual({ id: first.id, seq, assignee: "coder", workspace: "worktree", maxRuntimeMs: 5, ...shared });
    expect(await store.waiting(board, { limit: 2 })).toEqual(all.slice(0, 2));
    expect(await store.waiting("default")).not.toContainEqual(expect.objectContaining({ id: first.id }));
  },

  "K22 open runs come with the longest time that their task may take": async ({ store, taken, board }) => {
    const [limited, free, ended] = [await taken({ maxRuntimeMs: 60_000 }), await taken(), await taken()];
    await store.complete(ended.task.id, {}, { token: ended.token });
    expect(await store.openRuns(board)).toEqual([
      { ...limited.run, maxRuntimeMs: 60_000 },
      { ...free.run, maxRuntimeMs: null },
    ]);
    expect(await store.openRuns("default")).toEqual([]);
  },

  "K21 a guard leaves one event for each change of it, and none when it stays": async ({ store, create, clock, board }) => {
    const { id } = await create();
    const kinds = async () => (await store.events({ task: id })).map(({ kind }) => kind).slice(1);
    const guard = { reason: "cooldown", until: clock.now() + 1000 };
    for (let count = 0; count < 3; count += 1) expect((await store.setGuard(id, guard, ME)).guard).toEqual(guard);
    expect(await kinds()).toEqual(["guarded"]);
    expect(await store.waiting(board)).toMatchObject([{ id, guard }]);
    await expect(store.claim(id, { by: "d" })).rejects.toMatchObject({ code: "move-refused" });
    await store.setGuard(id, { ...guard, until: guard.until + 1 }, ME);
    await store.setGuard(id, { ...guard, reason: "other" }, ME);
    for (let count = 0; count < 2; count += 1) expect((await store.setGuard(id, null, ME)).guard).toBeNull();
    expect(await kinds()).toEqual(["guarded", "guarded", "guarded", "guard_lifted"]);
    expect((await store.events({ task: id })).at(-1)).toMatchObject({ actor: "me", payload: { reason: "other" } });
    await store.claim(id, { by: "d" });
    await expect(store.setGuard(id, guard, ME)).rejects.toMatchObject({ code: "move-refused" });
    expect(await store.getTask(id)).toMatchObject({ status: "running", guard: null });
  },

  "K20 how a worker ended is kept with its run, also of one that was revoked": async ({ store, taken, board }) => {
    const { task, run, token } = await taken({ assignee: "coder" });
    await store.recordWorker(task.id, token, { pid: 7 }, { supervisor: 7 });
    expect((await store.events({ task: task.id })).at(-1)).toMatchObject({ kind: "worker_started", payload: { supervisor: 7 } });
    await store.revoke(run.id, { by: "d", reason: "too long" });
    const exit = { code: null, signal: "SIGKILL", reason: "timed_out", error: "did not listen" } as const;
    expect(await store.recordExit(run.id, exit)).toBe(true);
    expect(await store.recordExit(run.id, { code: 0, signal: null, reason: "exited" })).toBe(true);
    const [open] = await store.openRuns(board);
    expect(open?.worker).toEqual({ pid: 7, exit });
    expect(exitOf({ worker: open?.worker ?? null })).toEqual(exit);
    const told = (await store.events({ task: task.id })).filter(({ kind }) => kind === "worker_exited");
    expect(told).toMatchObject([{ run: run.id, actor: "coder", payload: exit }]);
    await store.release(run.id, { by: "d", outcome: "timed_out" });
    expect(await store.recordExit(run.id, exit)).toBe(false);
  },

  "K18 K20 how a worker ended is kept also when it has said its last word before": async ({ store, taken }) => {
    const { task, run, token } = await taken({ assignee: "coder" });
    await store.recordWorker(task.id, token, { pid: 7 });
    await store.block(task.id, { reason: "no key" }, { token });
    const exit = { code: 0, signal: null, reason: "exited" } as const;
    expect(await store.recordExit(run.id, exit)).toBe(false);
    expect(await store.recordExit(run.id, { ...exit, code: 1 })).toBe(false);
    expect(await store.runs({ task: task.id })).toMatchObject([{ outcome: "blocked", worker: { pid: 7, exit } }]);
    expect((await store.events({ task: task.id })).at(-1)).toMatchObject({ kind: "worker_exited", run: run.id, actor: "coder" });
    expect(await store.recordExit(run.id + 1000, exit)).toBe(false);
    await store.unblock(task.id, ME);
    const again = await store.claim(task.id, { by: "d" });
    expect(await store.recordExit(run.id, exit)).toBe(false);
    expect(await store.recordExit(again.run.id, exit)).toBe(true);
  },

  "K18 the process of a worker is kept with its run, without an event, and its end beside it": async ({ store, taken }) => {
    const { task, run, token } = await taken({ assignee: "coder" });
    await store.recordWorker(task.id, token, { mark: "m" });
    const before = await store.events({ task: task.id });
    await store.recordProcess(run.id, { pid: 7, startedAt: "70" });
    expect(await store.events({ task: task.id })).toEqual(before);
    const exit = { code: 0, signal: null, reason: "exited" } as const;
    await store.recordExit(run.id, exit);
    expect(await store.runs({ task: task.id })).toMatchObject([{ worker: { mark: "m", process: { pid: 7, startedAt: "70" }, exit } }]);
    await store.recordProcess(run.id + 1000, { pid: 7, startedAt: "70" });
  },

  "K18 where a worker is going to be is kept with its run, and no longer taken once its claim is revoked": async ({ store, taken }) => {
    const { task, run, token } = await taken({ assignee: "coder" });
    await store.recordWorker(task.id, token, { mark: "m", address: null });
    const before = await store.events({ task: task.id });
    const address = { ref: { id: "c1" }, directory: "/sandboxes", access: null };
    await store.recordAddress(task.id, token, address);
    await store.recordProcess(run.id, { pid: 7, startedAt: "70" });
    expect(await store.events({ task: task.id })).toEqual(before);
    await expect(store.recordAddress(task.id, "another", address)).rejects.toMatchObject({ code: "claim-lost" });
    await store.revoke(run.id, { by: "d", reason: "too long" });
    await expect(store.recordAddress(task.id, token, { ...address, directory: "/other" })).rejects.toMatchObject({ code: "claim-lost" });
    expect(await store.runs({ task: task.id })).toMatchObject([{ worker: { mark: "m", address, process: { pid: 7 } } }]);
  },

  "S17 K12 what the sandbox of a run had been made with is kept with it, and is an event": async ({ store, taken }) => {
    const { task, run, token } = await taken({ assignee: "coder" });
    await store.recordWorker(task.id, token, { mark: "m" });
    const drift = { sandbox: task.id, changed: ["cpu (made with: 1; now: 2)"], replaced: false };
    await store.recordDrift(run.id, drift);
    expect((await store.events({ task: task.id })).at(-1)).toMatchObject({
      kind: "sandbox_drifted",
      run: run.id,
      actor: "coder",
      payload: drift,
    });
    expect(await store.runs({ task: task.id })).toMatchObject([{ worker: { mark: "m", drift } }]);
    await store.recordDrift(run.id + 1000, drift);
  },

  "K20 a worker that never began leaves word of it, too": async ({ store, taken }) => {
    const { run, task } = await taken();
    expect(exitOf(run)).toBeNull();
    const exit = { code: null, signal: null, reason: "start_failed", error: "x".repeat(5000) } as const;
    await store.recordExit(run.id, exit);
    const [open] = await store.runs({ task: task.id });
    expect(open?.worker).toMatchObject({ exit: { reason: "start_failed", error: expect.stringContaining(" … ") } });
  },
};

/** In another process where the database can have one. */
async function createElsewhere({ store, open, board, create }: Kit): Promise<string> {
  if (open === undefined) return (await create()).id;
  const { stdout } = await promisify(execFile)(process.execPath, [CREATOR, store.location, board]);
  return stdout.trim();
}
