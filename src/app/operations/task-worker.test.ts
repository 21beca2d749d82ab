import { describe, expect, test } from "vitest";
import { createKanbanApp } from "../../../test/helpers/test-app.ts";
import { taskArchive } from "./task-archive.ts";
import { taskAssign } from "./task-assign.ts";
import { taskBlock } from "./task-block.ts";
import { taskClaim } from "./task-claim.ts";
import { taskComment } from "./task-comment.ts";
import { taskContext } from "./task-context.ts";
import { taskEdit } from "./task-edit.ts";
import { taskHeartbeat } from "./task-heartbeat.ts";
import { taskPromote } from "./task-promote.ts";
import { taskRequestReview } from "./task-request-review.ts";
import { taskSchedule } from "./task-schedule.ts";
import { taskShow } from "./task-show.ts";
import { taskStats } from "./task-stats.ts";
import { taskUnblock } from "./task-unblock.ts";

describe("a worker", () => {
  test("K29 does nothing that is for people and orchestrators, nor ends another task", async () => {
    await using board = await createKanbanApp();
    const { store } = board.kanban;
    const { task } = await store.createTask({ title: "own", assignee: "writer" }, { by: "me" });
    const { task: other } = await store.createTask({ title: "other", initial: "blocked" }, { by: "me" });
    const { app } = await board.work(task.id);
    const { id } = other;
    const refused = [
      taskUnblock.run(app, { id }),
      taskPromote.run(app, { id }),
      taskSchedule.run(app, { id, time: 5 }),
      taskArchive.run(app, { id }),
      taskEdit.run(app, { id, title: "mine" }),
      taskAssign.run(app, { id, assignee: "writer" }),
      taskClaim.run(app, { id }),
      taskStats.run(app, {}),
      taskBlock.run(app, { id, reason: "x" }),
      taskRequestReview.run(app, { id }),
      taskUnblock.run(app, { id: task.id }),
    ];
    for (const attempt of refused) await expect(attempt).rejects.toMatchObject({ code: "move-refused" });
    expect(await store.getTask(id)).toEqual(other);
  });

  test("K29 gives a sign of life for its own task only, whatever token it has", async () => {
    await using board = await createKanbanApp();
    const { store } = board.kanban;
    const [own, other] = await Promise.all(
      ["own", "other"].map(async (title) => (await store.createTask({ title, assignee: "writer" }, { by: "me" })).task.id),
    );
    const { app } = await board.work(own ?? "");
    const { claim } = await board.work(other ?? "");
    await expect(taskHeartbeat.run(app, { id: other, token: claim.token })).rejects.toMatchObject({ code: "move-refused" });
    expect(await taskHeartbeat.run(app, {})).toMatchObject({ task: own });
    expect(await taskHeartbeat.run(board.app, { id: other, token: claim.token })).toMatchObject({ task: other });
  });

  test("K29 comments in its own name on any task of its board, and sees no other board", async () => {
    await using board = await createKanbanApp();
    const { store } = board.kanban;
    await store.createBoard("other", { by: "me" });
    const { task } = await store.createTask({ title: "own", assignee: "writer" }, { by: "me" });
    const { task: child } = await store.createTask({ title: "child", parents: [task.id] }, { by: "me" });
    const { task: far } = await store.createTask({ title: "far", board: "other" }, { by: "me" });
    const { app, claim } = await board.work(task.id);
    expect(await taskComment.run(app, { body: "here" })).toMatchObject({ task: task.id, author: "writer", run: claim.run.id });
    expect(await taskComment.run(app, { id: child.id, body: "there" })).toMatchObject({ task: child.id, author: "writer" });
    for (const attempt of [taskComment.run(app, { id: far.id, body: "x" }), taskShow.run(app, { id: far.id })]) {
      await expect(attempt).rejects.toMatchObject({ code: "task-not-found" });
    }
    await expect(taskShow.run(app, { board: "other" })).rejects.toMatchObject({ code: "move-refused" });
    await store.revoke(claim.run.id, { by: "me", reason: "test" });
    await expect(taskComment.run(app, { body: "late" })).rejects.toMatchObject({ code: "claim-lost" });
  });

  test("K29 is told what came before it", async () => {
    await using board = await createKanbanApp();
    const { store } = board.kanban;
    const { task: parent } = await store.createTask({ title: "first" }, { by: "me" });
    const { task } = await store.createTask({ title: "second", parents: [parent.id], assignee: "writer" }, { by: "me" });
    const file = { name: "out.txt", path: "/kept/out.txt", contentType: "text/plain", size: 2 };
    await store.addAttachment(parent.id, file, { by: "me" });
    await store.complete(parent.id, { summary: "the answer is 42", metadata: { answer: 42 } }, { by: "me" });
    const { app } = await board.work(task.id, { HOLDFAST_WORKSPACE: "/some/where" });
    const { text } = await taskContext.run(app, {});
    expect(text).toContain(`# Task ${task.id}\n`);
    expect(text).toContain("the answer is 42");
    expect(text).toContain('"answer": 42');
    expect(text).toContain("- out.txt (text/plain, 2 bytes): /kept/out.txt");
    expect(text).toContain("scratch in /some/where");
  });
});
