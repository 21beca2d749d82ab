/** @module Cases: tasks that repeat, deadlines, and tasks that are opened again. */
import { expect } from "vitest";
import type { Kit } from "./kit.ts";
import { type Cases, ME } from "./kit.ts";

const HOUR_MS = 3_600_000;

export const timeCases: Cases = {
  "K10 a task that repeats leaves the next one when it is done": async ({ store, board, taken, clock, create }) => {
    const parent = await create();
    await store.complete(parent.id, {}, ME);
    const fields = {
      ...{ title: "sweep", body: "b", priority: 3, tenant: "acme", workspace: "dir:/srv/x", branch: "b", maxRuntimeMs: 5, maxRetries: 4 },
      ...{ skills: ["s"], model: "m", repeat: " every  90m ", timeZone: "Europe/Berlin" },
    };
    const { task, token } = await taken({
      ...fields,
      ...{ assignee: "coder", parents: [parent.id], deadline: clock.now() + 5, idempotencyKey: "k" },
    });
    expect(task).toMatchObject({ repeat: "every 90m", series: task.id, successor: null });
    const done = await store.complete(task.id, {}, { token });
    const next = await store.getTask(done.successor ?? "");
    const due = clock.now() + 1.5 * HOUR_MS;
    expect(next).toMatchObject({ ...fields, repeat: "every 90m", status: "scheduled", scheduledFor: due, assignee: "coder", board });
    expect(next).toMatchObject({ series: task.id, deadline: null, idempotencyKey: null, startedAt: null, completedAt: null });
    expect(await store.parents(next.id)).toEqual([]);
    expect((await store.events({ task: task.id })).at(-1)).toMatchObject({ kind: "repeated", payload: { successor: next.id } });
    expect((await store.events({ task: next.id })).map(({ kind, actor }) => [kind, actor])).toEqual([["created", "board"]]);
    const third = await store.complete(next.id, {}, ME);
    expect(await store.getTask(third.successor ?? "")).toMatchObject({ series: task.id });
    await store.archive(third.successor ?? "", ME);
    expect(await alive({ store, board })).toEqual([]);
  },

  "K10 times that are no dates are refused, whoever says them": async ({ store, board, create, taken }) => {
    const far = 4e15 + 1;
    const { task, run } = await taken();
    const { id } = await create();
    const attempts = [
      () => create({ scheduledFor: far }),
      () => create({ deadline: far }),
      () => create({ maxRuntimeMs: far }),
      () => store.editTask(id, { deadline: far }, ME),
      () => store.schedule(id, far, ME),
      () => store.setGuard(id, { reason: "r", until: far }, ME),
      () => store.claim(id, { by: "d", ttlMs: far }),
      async () => {
        const data = await store.exportBoard(board);
        const runs = data.runs.map((each) => (each.id === run.id ? { ...each, startedAt: far } : each));
        return await store.importBoard({ ...data, runs }, { ...ME, as: `${board}-far` });
      },
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: "invalid-input" });
    expect(await store.getTask(task.id)).toEqual(task);
    await store.schedule(id, 4e15, ME);
  },

  "K10 the next one belongs to whoever did the work, not to whoever reviewed it": async ({ store, taken }) => {
    const { task, token } = await taken({ repeat: "every 1d", assignee: "coder" });
    await store.requestReview(task.id, { reviewer: "critic" }, { token });
    const { successor } = await store.complete(task.id, {}, ME);
    expect(await store.archive(successor ?? "", ME)).toMatchObject({ assignee: "coder", phase: "work" });
  },

  "K10 five fields of cron name the time, in the time zone of the task": async ({ store, create, clock }) => {
    const times = [];
    for (const timeZone of ["UTC", "America/New_York"]) {
      const { id } = await create({ repeat: "30 9 * * 1-5", timeZone });
      const next = (await store.complete(id, {}, ME)).successor ?? "";
      times.push((await store.archive(next, ME)) && (await store.events({ task: next }))[0]?.payload.until);
    }
    // The clock of the tests begins on 14 November 2023, a Tuesday, in the evening.
    const [utc, york] = times as [number, number];
    expect(new Date(utc).toISOString()).toMatch(/T09:30:00/);
    expect(new Date(york).toISOString()).toMatch(/T14:30:00/);
    expect(Math.min(utc, york)).toBeGreaterThan(clock.now());
  },

  "K10 there is one next task, however often this one is done": async ({ store, board, create }) => {
    const { id } = await create({ repeat: "every 1h" });
    const attempts = await Promise.allSettled(Array.from({ length: 5 }, () => store.complete(id, {}, ME)));
    expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await store.reopen(id, ME);
    const { successor } = await store.complete(id, {}, ME);
    expect(await alive({ store, board })).toEqual([successor]);
    await store.archive(successor ?? "", ME);
  },

  "K10 a series ends when its repetition is taken away, or the task is archived": async ({ store, board, create }) => {
    const [ended, archived] = [await create({ repeat: "every 1h" }), await create({ repeat: "every 1h" })];
    expect(await store.editTask(ended.id, { repeat: null }, ME)).toMatchObject({ repeat: null, series: ended.id });
    expect((await store.complete(ended.id, {}, ME)).successor).toBeNull();
    await store.archive(archived.id, ME);
    expect(await alive({ store, board })).toEqual([]);
    const later = await create();
    expect(await store.editTask(later.id, { repeat: "every 1w" }, ME)).toMatchObject({ repeat: "every 1w", series: later.id });
  },

  "K10 a time that nobody could mean is refused, with what is expected": async ({ store, board, create }) => {
    const { id } = await create();
    const cron = ["* * * *", "* * * * * *", "61 * * * *", "a b c d e", "0 0 31 2 *", "@daily", "0 0 0 0 *"];
    for (const repeat of [
      "",
      "every",
      "every 0m",
      "every 5",
      "every 5y",
      "every -5m",
      "every 1.5h",
      "every 999999999w",
      "x".repeat(300),
      ...cron,
    ]) {
      const refused = { code: "invalid-input", facts: { field: "repeat" }, hint: expect.stringContaining("every 90m") };
      await expect(store.createTask({ title: "a", board, repeat }, ME), repeat).rejects.toMatchObject(refused);
      await expect(store.createTasks([{ title: "a", board, repeat }], ME), repeat).rejects.toMatchObject(refused);
      await expect(store.editTask(id, { repeat }, ME), repeat).rejects.toMatchObject(refused);
    }
    await expect(store.editTask(id, { timeZone: "Nowhere/Land" }, ME)).rejects.toMatchObject({ facts: { field: "timeZone" } });
    expect(await store.getTask(id)).toMatchObject({ repeat: null, timeZone: null });
  },

  "K10 a missed deadline is noted once, and blocks what waits to be taken": async ({ store, create, taken, clock, statusOf }) => {
    const deadline = clock.now() + 1000;
    const parent = await create({ initial: "triage" });
    const waiting = [
      await create({ deadline }),
      await create({ deadline, parents: [parent.id] }),
      await create({ deadline, initial: "scheduled", scheduledFor: deadline + 5 }),
    ];
    const reviewed = await create({ deadline });
    waiting.push(await store.requestReview(reviewed.id, {}, ME));
    const told = [
      await create({ deadline, initial: "triage" }),
      await create({ deadline, initial: "blocked" }),
      (await taken({ deadline })).task,
    ];
    const finished = await create({ deadline });
    await store.complete(finished.id, {}, ME);
    const later = await create({ deadline: deadline + 1 });
    const ids = [...waiting, ...told].map(({ id }) => id);
    const mine = async (now: number) => (await store.markOverdue(now)).filter((id) => [...ids, finished.id, later.id].includes(id));

    expect(await mine(deadline - 1)).toEqual([]);
    await clock.advance(1000);
    expect((await mine(deadline)).toSorted()).toEqual(ids.toSorted());
    expect(await mine(deadline)).toEqual([]);
    for (const { id } of waiting) {
      expect(await store.getTask(id)).toMatchObject({
        status: "blocked",
        scheduledFor: null,
        overdueAt: clock.now(),
        blocked: { kind: "deadline", by: "board", reason: expect.stringContaining(new Date(deadline).toISOString()) },
      });
    }
    for (const task of told) expect(await statusOf(task)).toBe(task.status);
    for (const id of ids) expect((await store.events({ task: id })).filter(({ kind }) => kind === "deadline_missed")).toHaveLength(1);

    const [first] = waiting;
    expect((await store.unblock(first?.id ?? "", ME)).status).toBe("ready");
    expect(await mine(deadline)).toEqual([]);
    await store.editTask(first?.id ?? "", { deadline: deadline - 1 }, ME);
    expect(await mine(deadline)).toEqual([first?.id]);
    await store.archive(later.id, ME);
  },

  "K5 K10 what is due on one board is woken and noted without that of the others": async ({ store, board, create, clock }) => {
    const { slug: other } = await store.createBoard(`${board}-other`, ME);
    const at = clock.now() + 1000;
    const [mine, late] = [await create({ initial: "scheduled", scheduledFor: at }), await create({ deadline: at })];
    const due = await create({ board: other, initial: "scheduled", scheduledFor: at });
    const missed = await create({ board: other, deadline: at });
    await clock.advance(1000);
    expect(await store.wakeDue(at, { board })).toEqual([mine.id]);
    expect(await store.markOverdue(at, { board })).toEqual([late.id]);
    expect(await store.wakeDue(at, { board: other })).toEqual([due.id]);
    expect(await store.markOverdue(at, { board: other })).toEqual([missed.id]);
  },

  "K10 the next time is that of the first thing that happens by itself": async ({ store, board, create, taken, clock }) => {
    const now = clock.now();
    expect(await store.nextTime(board)).toBeNull();
    const { run, task } = await taken();
    await store.release(run.id, { by: "d", outcome: "rate_limited", guard: { reason: "r", until: now + 3000 } });
    expect(await store.nextTime(board)).toBe(now + 3000);
    const timed = await create({ deadline: now + 2000 });
    expect(await store.nextTime(board)).toBe(now + 2000);
    const scheduled = await create({ initial: "scheduled", scheduledFor: now + 1000 });
    expect(await store.nextTime(board)).toBe(now + 1000);
    expect(await store.nextTime()).toBeLessThanOrEqual(now + 1000);
    await store.archive(scheduled.id, ME);
    await store.complete(timed.id, {}, ME);
    expect(await store.nextTime(board)).toBe(now + 3000);
    await clock.advance(3000);
    expect(await store.nextTime(board)).toBeNull();
    expect((await store.getTask(task.id)).guard).not.toBeNull();
  },

  "K7 K8 a task is opened again, and what waited for it waits again": async ({ store, create, taken, statusOf }) => {
    const { task, token, run } = await taken({ assignee: "coder" });
    await store.requestReview(task.id, { reviewer: "critic" }, { token });
    await store.complete(task.id, {}, ME);
    const parents = [task.id];
    const free = await create({ parents });
    const reviewed = await store.requestReview((await create({ parents })).id, {}, ME);
    const running = await taken({ parents });
    const finished = await create({ parents });
    await store.complete(finished.id, {}, ME);
    expect(await store.reopen(task.id, { ...ME, reason: "it rains in" })).toMatchObject({
      ...{ status: "ready", phase: "work", assignee: "coder", implementer: null, completedAt: null, failures: 0 },
    });
    const statuses = await Promise.all([free, reviewed, running.task, finished].map(statusOf));
    expect(statuses).toEqual(["todo", "todo", "running", "done"]);
    expect((await store.events({ task: task.id })).at(-1)).toMatchObject({
      kind: "reopened",
      payload: { reason: "it rains in", from: "done", to: "ready" },
    });
    await expect(store.reopen(task.id, ME)).rejects.toMatchObject({ code: "move-refused" });
    expect(run.task).toBe(task.id);
    await store.archive(task.id, ME);
    expect([await statusOf(free), await statusOf(reviewed)]).toEqual(["ready", "review"]);
    expect((await store.reopen(task.id, ME)).status).toBe("ready");
    expect([await statusOf(free), await statusOf(reviewed)]).toEqual(["todo", "todo"]);
  },
};

async function alive({ store, board }: Pick<Kit, "store" | "board">): Promise<string[]> {
  const all = await store.listTasks({ board });
  return all.filter(({ status }) => status !== "done" && status !== "archived").map(({ id }) => id);
}
