/** @module Cases: many tasks at once, and what becomes of ideas. */
import { expect } from "vitest";
import { type Cases, ME } from "./kit.ts";

const REFUSED = { code: "link-refused" };

export const planCases: Cases = {
  "K35 a list of tasks that wait for one another is made at once": async ({ store, board, create, statusOf }) => {
    const before = await create();
    const made = await store.createTasks(
      [
        { title: "whole", board, after: [1, 2, 1] },
        { title: "one", board, parents: [before.id] },
        { title: "two", board },
      ],
      ME,
    );
    expect(made.map(({ task, created }) => [task.title, task.status, created])).toEqual([
      ["whole", "todo", true],
      ["one", "todo", true],
      ["two", "ready", true],
    ]);
    const [whole, one, two] = made.map(({ task }) => task.id) as [string, string, string];
    expect((await store.parents(whole)).map(({ id }) => id).toSorted()).toEqual([one, two].toSorted());
    await store.complete(two, {}, ME);
    await store.complete(before.id, {}, ME);
    await store.complete(one, {}, ME);
    expect(await statusOf({ id: whole })).toBe("ready");
    expect(await store.createTasks([], ME)).toEqual([]);
  },

  "K35 a list that cannot be made whole is not made at all": async ({ store, board, create }) => {
    const before = await store.lastEvent();
    const list = (...after: number[][]) => after.map((each, index) => ({ title: `${index}`, board, after: each }));
    for (const after of [[[1], [0]], [[1], [2], [0]], [[0]], [[1]], [[-1]], [[0.5]], [[Number.NaN]], [[], [2]]]) {
      await expect(store.createTasks(list(...after), ME), JSON.stringify(after)).rejects.toMatchObject(REFUSED);
    }
    await expect(store.createTasks(list([], [1]), ME)).rejects.toMatchObject({
      message: expect.stringContaining("entry 1 cannot wait for itself"),
    });
    await store.createBoard(`${board}-x`, ME);
    const elsewhere = [
      { title: "a", board },
      { title: "b", board: `${board}-x`, after: [0] },
    ];
    await expect(store.createTasks(elsewhere, ME)).rejects.toMatchObject(REFUSED);
    const missing = [
      { title: "a", board },
      { title: "b", board, parents: ["t_00000000"] },
    ];
    await expect(store.createTasks(missing, ME)).rejects.toMatchObject({ code: "task-not-found" });
    await expect(store.createTasks([...list([]), { title: "" }], ME)).rejects.toMatchObject({ code: "invalid-input" });
    expect(await store.listTasks({ board })).toEqual([]);
    expect((await store.events({ since: before, board })).map(({ kind }) => kind)).toEqual([]);
    await create();
  },

  "K6 K35 a list with known keys is given again, whole or not at all": async ({ store, board }) => {
    const list = ["a", "b"].map((title) => ({ title, board: ` ${board.toUpperCase()}`, idempotencyKey: `list ${title}` }));
    const [once, again] = [await store.createTasks(list, ME), await store.createTasks(list, ME)];
    expect(again).toEqual(once.map(({ task }) => ({ task, created: false })));
    const bad = { code: "invalid-input", facts: { field: "idempotencyKey" } };
    for (const more of [{ title: "c", board }, { title: "c", board, idempotencyKey: "list c" }, list[0] as (typeof list)[0]]) {
      await expect(store.createTasks([...list, more], ME)).rejects.toMatchObject(bad);
    }
    expect(await store.listTasks({ board })).toHaveLength(2);
  },

  "K5 K17 a run makes lists on its own board, while it has its token": async ({ store, board, taken }) => {
    await store.createBoard(`${board}-x`, ME);
    await store.createTasks([{ title: "a", board: `${board}-x`, idempotencyKey: "k" }], ME);
    const { task, token } = await taken();
    const [made] = await store.createTasks([{ title: "a", board }], { task: task.id, token });
    expect(made?.task.createdBy).toBe("dispatcher");
    for (const fields of [{}, { idempotencyKey: "k" }]) {
      const elsewhere = [{ title: "a", board: `${board}-x`, ...fields }];
      await expect(store.createTasks(elsewhere, { task: task.id, token })).rejects.toMatchObject({ code: "move-refused" });
    }
    await expect(store.createTasks([{ title: "a", board }], { task: task.id, token: "none" })).rejects.toMatchObject({
      code: "claim-lost",
    });
  },

  "K35 an idea is decomposed once, and waits for every part": async ({ store, board, create, statusOf, clock }) => {
    const idea = await create({ initial: "triage" });
    const tasks = [{ title: "one" }, { title: "two", after: [0], assignee: "coder" }];
    const { root, children } = await store.decompose(idea.id, { tasks, assignee: "judge" }, ME);
    expect(root).toMatchObject({ id: idea.id, status: "todo", assignee: "judge", decomposedAt: clock.now() });
    expect(await store.getTask(idea.id)).toEqual(root);
    expect(children).toMatchObject([
      { title: "one", status: "ready", board },
      { title: "two", status: "todo", assignee: "coder", board },
    ]);
    const ids = children.map(({ id }) => id);
    expect((await store.parents(root.id)).map(({ id }) => id)).toEqual(ids);
    expect((await store.events({ task: root.id })).at(-1)).toMatchObject({
      kind: "decomposed",
      actor: "me",
      payload: { children: ids, from: "triage", to: "todo" },
    });
    await expect(store.decompose(idea.id, { tasks }, ME)).rejects.toMatchObject({
      code: "move-refused",
      message: expect.stringContaining("before"),
    });
    for (const id of ids) await store.complete(id, {}, ME);
    expect(await statusOf(root)).toBe("ready");
  },

  "K35 what is not an idea, or would wait for itself, is not decomposed": async ({ store, board, create }) => {
    const [task, idea] = [await create(), await create({ initial: "triage" })];
    const below = await create({ parents: [idea.id] });
    const count = (await store.listTasks({ board })).length;
    await expect(store.decompose(task.id, { tasks: [{ title: "a" }] }, ME)).rejects.toMatchObject({ code: "move-refused" });
    await expect(store.decompose(idea.id, { tasks: [] }, ME)).rejects.toMatchObject({ code: "invalid-input" });
    for (const parent of [idea.id, below.id]) {
      await expect(store.decompose(idea.id, { tasks: [{ title: "a", parents: [parent] }] }, ME)).rejects.toMatchObject(REFUSED);
    }
    expect(await store.getTask(idea.id)).toEqual(idea);
    expect(await store.listTasks({ board })).toHaveLength(count);
  },

  "K35 the parts stay in triage if somebody is to look at them first": async ({ store, create, statusOf }) => {
    const idea = await create({ initial: "triage" });
    const { children } = await store.decompose(idea.id, { tasks: [{ title: "a" }], promote: false }, ME);
    expect(children.map(({ status }) => status)).toEqual(["triage"]);
    expect(await statusOf(idea)).toBe("todo");
  },

  "K35 an idea is specified, and is a task from then on": async ({ store, create }) => {
    const [idea, parent] = [await create({ title: "rough", initial: "triage" }), await create()];
    expect(await store.specify(idea.id, { title: "exact", body: "do this" }, ME)).toMatchObject({
      status: "ready",
      title: "exact",
      body: "do this",
    });
    expect((await store.events({ task: idea.id })).at(-1)).toMatchObject({ kind: "specified", payload: { oldTitle: "rough" } });
    await expect(store.specify(idea.id, { body: "again" }, ME)).rejects.toMatchObject({ code: "move-refused" });
    const waiting = await create({ title: "kept", initial: "triage", parents: [parent.id] });
    const specified = await store.specify(waiting.id, { body: "b" }, ME);
    expect(specified).toMatchObject({ status: "todo", title: "kept", body: "b" });
    expect(await store.getTask(waiting.id)).toEqual(specified);
  },
};
