/** @module Cases: what goes for ever, and the numbers of a board. */
import { expect } from "vitest";
import type { Claim } from "../../../src/board/claims.ts";
import { type Cases, ME } from "./kit.ts";

const FILE = { name: "a.txt", path: "/files/a", contentType: "text/plain", size: 3 };

export const removalCases: Cases = {
  "K9 an archived task is removed with all that belongs to it": async ({ store, board, taken, create, statusOf }) => {
    const { task, token } = await taken({ title: "old" });
    const child = await create({ parents: [task.id] });
    await store.comment(task.id, "x", { token });
    await store.addAttachment(task.id, FILE, { token });
    await store.addAttachment(task.id, { ...FILE, path: "/files/b" }, ME);
    await expect(store.removeTask(task.id, ME)).rejects.toMatchObject({ code: "move-refused" });
    await store.complete(task.id, {}, { token });
    await expect(store.removeTask(task.id, ME)).rejects.toMatchObject({ code: "move-refused" });
    await store.archive(task.id, ME);
    const seen = await store.lastEvent();
    expect(await store.removeTask(task.id, ME)).toEqual({ paths: ["/files/a", "/files/b"] });

    await expect(store.getTask(task.id)).rejects.toMatchObject({ code: "task-not-found" });
    await expect(store.removeTask(task.id, ME)).rejects.toMatchObject({ code: "task-not-found" });
    for (const rest of [await store.comments(task.id), await store.attachments(task.id), await store.runs({ task: task.id })]) {
      expect(rest).toEqual([]);
    }
    expect(await store.events({ task: task.id })).toEqual([]);
    expect(await store.parents(child.id)).toEqual([]);
    expect(await statusOf(child)).toBe("ready");
    expect(await store.events({ board, since: seen })).toMatchObject([
      { kind: "task_removed", actor: "me", task: null, payload: { task: task.id, title: "old" } },
    ]);
  },

  "K9 K17 the number of a run that is removed is never that of another one": async ({ store, board, taken, create }) => {
    const given: number[] = [];
    const removeWith = async (claim: Claim) => {
      given.push(claim.run.id);
      await store.complete(claim.task.id, {}, { token: claim.token });
      await store.archive(claim.task.id, ME);
      await store.removeTask(claim.task.id, ME);
    };
    const [older, newer] = [await taken(), await taken()];
    await removeWith(newer);
    // What went before was newer than what goes now.
    await removeWith(older);
    given.push((await taken()).run.id);

    const slug = `${board}-x`;
    await store.createBoard(slug, ME);
    const { task } = await store.createTask({ title: "a", board: slug }, ME);
    await store.complete(task.id, {}, ME);
    given.push(...(await store.runs({ task: task.id })).map(({ id }) => id));
    await store.removeBoard(slug, ME);
    const { id } = await create();
    await store.complete(id, {}, ME);
    given.push(...(await store.runs({ task: id })).map((run) => run.id));
    expect(given).toHaveLength(5);
    expect(new Set(given).size).toBe(5);
    expect(Math.max(...given)).toBe(given.at(-1));
  },

  "K9 an attachment is removed, by people or by the run of its task": async ({ store, taken }) => {
    const [{ task, token }, other] = [await taken(), await taken()];
    const [one, two] = [
      await store.addAttachment(task.id, FILE, ME),
      await store.addAttachment(task.id, { ...FILE, path: "/files/b" }, ME),
    ];
    await expect(store.removeAttachment(one.id, { token: other.token })).rejects.toMatchObject({ code: "claim-lost" });
    expect(await store.removeAttachment(one.id, { token })).toBe("/files/a");
    expect(await store.attachments(task.id)).toEqual([two]);
    await expect(store.removeAttachment(one.id, ME)).rejects.toMatchObject({ code: "attachment-not-found" });
    expect((await store.events({ task: task.id })).at(-1)).toMatchObject({
      ...{ kind: "attachment_removed", payload: { attachment: one.id, name: "a.txt" } },
    });
  },

  "K9 old events of finished tasks are removed, and nothing else changes": async ({ store, board, create, clock }) => {
    const [done, open] = [await create(), await create()];
    await store.complete(done.id, {}, ME);
    const archived = await create();
    await store.archive(archived.id, ME);
    const before = [await store.listTasks({ board }), await store.runs({ board })];
    await clock.advance(1000);
    await store.comment(done.id, "later", ME);
    expect(await store.collectGarbage({ eventsBefore: clock.now(), board, chunk: 3 })).toEqual({ events: 4 });
    expect(await store.collectGarbage({ eventsBefore: clock.now(), board })).toEqual({ events: 0 });
    expect([await store.listTasks({ board }), await store.runs({ board })]).toEqual(before);
    expect((await store.events({ board })).map(({ kind, task }) => [kind, task])).toEqual([
      ["board_created", null],
      ["created", open.id],
      ["commented", done.id],
    ]);
    expect(await store.check()).toEqual([]);
    await expect(store.collectGarbage({ eventsBefore: 0, board: "nowhere" })).rejects.toMatchObject({ code: "board-not-found" });
  },

  "K9 the newest event of all stays, so that its id is not given again": async ({ store, board, create, clock }) => {
    const { id } = await create();
    await store.complete(id, {}, ME);
    const seen = await store.lastEvent();
    await clock.advance(1000);
    await store.collectGarbage({ eventsBefore: clock.now(), board });
    expect(await store.lastEvent()).toBe(seen);
    await create();
    expect((await store.events({ board, since: seen })).map(({ kind }) => kind)).toEqual(["created"]);
  },

  "K11 the numbers of a board": async ({ store, board, create, taken, clock }) => {
    const empty = await store.stats(board);
    expect(empty).toMatchObject({ oldestReadyMs: null, assignees: [], usage: { runs: 0, cost: 0, tokens: 0 } });
    await store.createBoard(`${board}-x`, ME);
    await store.createTask({ title: "elsewhere", board: `${board}-x` }, ME);
    await create({ assignee: "zoe" });
    await clock.advance(5000);
    await create();
    const one = await taken({ assignee: "coder" });
    await store.complete(one.task.id, { cost: 0.5, tokens: 100 }, { token: one.token });
    const two = await taken({ assignee: "coder" });
    await store.release(two.run.id, { by: "d", outcome: "crashed" });
    await taken({ assignee: "coder" });
    const stats = await store.stats(board);
    expect(stats.counts).toEqual(await store.counts(board));
    expect(stats).toMatchObject({ oldestReadyMs: 5000, usage: { runs: 3, cost: 0.5, tokens: 100 } });
    expect(stats.runs).toMatchObject({ completed: 1, crashed: 1, open: 1, blocked: 0 });
    expect(stats.assignees).toEqual([
      { assignee: "coder", counts: { done: 1, ready: 1, running: 1 } },
      { assignee: "zoe", counts: { ready: 1 } },
      { assignee: null, counts: { ready: 1 } },
    ]);
    await expect(store.stats("nowhere")).rejects.toMatchObject({ code: "board-not-found" });
  },
};
