import { expect, test } from "vitest";
import { createKanbanApp } from "../../test/helpers/test-app.ts";
import { currentPlace } from "../dispatcher/place.ts";
import { profileBoards } from "./profile-boards.ts";

test("K2 K18 a profile that is deleted here takes nothing from a worker of the same name on another machine", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const start = async (install: string) => {
    const { task } = await store.createTask({ title: "x", assignee: "writer" }, { by: "me" });
    const { claim } = await board.work(task.id);
    const supervisor = { pid: 1, startedAt: "never" };
    await store.recordWorker(task.id, claim.token, {
      place: currentPlace(install),
      supervisor,
      mark: "m",
      sandbox: "none",
      workspace: "/",
    });
    return task.id;
  };
  const there = await start("another");
  const here = await start((await board.app.owner("default")).install);
  const hooks = await profileBoards(board.app);
  expect(await hooks.ending("writer")).toEqual([here]);
  expect(await hooks.end("writer")).toEqual([here]);
  expect(await store.getTask(here)).toMatchObject({ status: "ready" });
  expect(await store.runs({ task: there })).toMatchObject([{ endedAt: null, revokedAt: null }]);
});
