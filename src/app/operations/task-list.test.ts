import { expect, test } from "vitest";
import { createKanbanApp } from "../../../test/helpers/test-app.ts";
import { runOperation } from "../operation.ts";
import { taskList } from "./task-list.ts";

test("K32 of finished tasks only the newest are listed, with how many more there are", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  for (let number = 0; number < 14; number++) {
    const { task } = await store.createTask({ title: `done ${number}`, priority: -number }, { by: "me" });
    await store.complete(task.id, {}, { by: "me" });
  }
  await store.createTask({ title: "open", assignee: "writer" }, { by: "me" });
  const all = await taskList.run(board.app, {});
  expect(all.tasks.map(({ title }) => title)).toEqual(["open", ...[13, 12, 11, 10, 9, 8, 7, 6, 5, 4].map((number) => `done ${number}`)]);
  expect(all.more).toEqual({ done: 4 });
  expect(all.counts).toMatchObject({ ready: 1, done: 14 });
  expect((await taskList.run(board.app, { limit: 20 })).more).toEqual({});
  expect(await taskList.run(board.app, { assignee: null, limit: 2 })).toMatchObject({ more: { done: null } });
  expect((await taskList.run(board.app, { assignee: "writer" })).tasks.map(({ title }) => title)).toEqual(["open"]);
  expect((await taskList.run(board.app, { status: ["ready"] })).tasks).toHaveLength(1);
  for (const limit of [0, -1]) await expect(runOperation(board.app, taskList, { limit })).rejects.toMatchObject({ code: "invalid-input" });
});

test("K12 every task that does not run has its reasons in the list", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const { task: parent } = await store.createTask({ title: "first", assignee: "default" }, { by: "me" });
  await store.createTask({ title: "second", parents: [parent.id] }, { by: "me" });
  await store.createTask({ title: "third", initial: "blocked", reason: "money" }, { by: "me" });
  const { tasks } = await taskList.run(board.app, {});
  expect(tasks.map(({ title, why }) => [title, why.map(({ kind }) => kind)])).toEqual([
    ["second", ["waiting"]],
    ["first", ["profile-not-spawnable", "no-dispatcher"]],
    ["third", ["blocked"]],
  ]);
});

test("K29 a list is not for workers", async () => {
  await using board = await createKanbanApp();
  const { task } = await board.kanban.store.createTask({ title: "x" }, { by: "me" });
  const { app } = await board.work(task.id);
  await expect(taskList.run(app, {})).rejects.toMatchObject({ code: "move-refused" });
});
