import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createKanbanApp, type KanbanApp } from "../../test/helpers/test-app.ts";
import { openHoldfast } from "./open-holdfast.ts";
import { openWorker } from "./open-worker.ts";

/** A worker as a dispatcher starts it: all that it knows is in its variables. */
async function startWorker(board: KanbanApp, title = "own") {
  const { task } = await board.kanban.store.createTask({ title, assignee: "default" }, { by: "me" });
  const claim = await board.kanban.store.claim(task.id, { by: "dispatcher" });
  const workspace = join(board.directory, "workspace");
  await mkdir(workspace, { recursive: true });
  const environment = {
    HOLDFAST_HOME: board.home,
    HOLDFAST_TASK: task.id,
    HOLDFAST_RUN_TOKEN: claim.token,
    HOLDFAST_BOARD: task.board,
    HOLDFAST_WORKSPACE: workspace,
  };
  return { worker: await openWorker({ environment, cwd: workspace }), task, claim, workspace };
}

describe("the library in a worker", () => {
  test("K28 K29 knows its task from the variables, and completes it with what it made", async () => {
    await using board = await createKanbanApp();
    const started = await startWorker(board, "write the notes");
    await using worker = started.worker;
    expect(worker).toMatchObject({ task: started.task.id, board: "default", profile: "default", workspace: started.workspace });
    expect(await worker.context()).toContain("write the notes");
    await worker.heartbeat();
    await worker.comment("half of it is there");
    await writeFile(join(started.workspace, "notes.md"), "# Notes\n");
    const { task: next } = await worker.create("read the notes", { parents: [worker.task] });
    expect(next).toMatchObject({ status: "todo" });
    const done = await worker.complete({ summary: "written", metadata: { pages: 1 }, artifacts: ["notes.md"], created: [next.id] });
    expect(done.status).toBe("done");
    expect(worker.lost.aborted).toBe(false);
    const { runs, comments, attachments } = await worker.show();
    expect(runs).toMatchObject([{ outcome: "completed", summary: "written", metadata: { pages: 1, created: [next.id] } }]);
    expect(comments).toMatchObject([{ author: "default", body: "half of it is there" }]);
    expect(attachments).toMatchObject([{ name: "notes.md", size: 8 }]);
    expect((await worker.show(next.id)).task.status).toBe("ready");
  });

  test("K29 hands over to a review, or says what is missing", async () => {
    await using board = await createKanbanApp();
    const { worker } = await startWorker(board);
    expect(await worker.requestReview({ summary: "look", reviewer: "default" })).toMatchObject({ status: "review", assignee: "default" });
    await worker.close();
    const { worker: other } = await startWorker(board, "another");
    expect(await other.block("which logo?", { kind: "needs_input" })).toMatchObject({
      status: "blocked",
      blocked: { kind: "needs_input", reason: "which logo?", by: "default" },
    });
    await other.close();
  });

  test("K17 learns from a heartbeat that its claim is lost", async () => {
    await using board = await createKanbanApp();
    const started = await startWorker(board);
    await using worker = started.worker;
    await board.kanban.store.revoke(started.claim.run.id, { by: "me", reason: "test" });
    expect(worker.lost.aborted).toBe(false);
    await expect(worker.heartbeat()).rejects.toMatchObject({ code: "claim-lost" });
    expect(worker.lost.aborted).toBe(true);
    expect(worker.lost.reason).toMatchObject({ code: "claim-lost" });
    await expect(worker.complete()).rejects.toMatchObject({ code: "claim-lost" });
  });

  test("K28 is nothing for a process that nobody started as a worker", async () => {
    await using board = await createKanbanApp();
    await expect(openWorker({ environment: { HOLDFAST_HOME: board.home } })).rejects.toMatchObject({ code: "invalid-input" });
    await expect(openWorker({ environment: { HOLDFAST_HOME: 5 as never } })).rejects.toMatchObject({ facts: { field: "environment" } });
  });
});

describe("the board in the library", () => {
  test("K29 K32 does what the command line does", async () => {
    await using home = await createKanbanApp();
    await using holdfast = await openHoldfast({ environment: { HOLDFAST_HOME: home.home, PATH: process.env.PATH }, cwd: home.directory });
    const board = holdfast.board();
    const { task: first, created, warnings } = await board.create("first", { priority: 2, idempotencyKey: "k" });
    expect(created).toBe(true);
    expect(warnings.map(({ kind }) => kind)).toContain("unassigned");
    expect(await board.create("again", { idempotencyKey: "k" })).toMatchObject({ created: false, task: { id: first.id } });
    const { task: second } = await board.create("second");
    expect(await board.link(first.id, second.id)).toMatchObject({ status: "todo" });
    expect(await board.unlink(first.id, second.id)).toMatchObject({ status: "ready" });
    await board.link(first.id, second.id);
    await writeFile(join(home.directory, "logo.svg"), "<svg/>");
    expect(await board.attach(first.id, "logo.svg")).toMatchObject({ name: "logo.svg", size: 6 });
    await board.comment(first.id, "soon");
    expect(await board.assign(first.id, "default")).toMatchObject({ assignee: "default" });
    expect(await board.block(first.id, "not today")).toMatchObject({ status: "blocked" });
    expect(await board.unblock(first.id)).toMatchObject({ status: "ready" });
    expect((await board.get(second.id)).why).toMatchObject([{ kind: "waiting" }]);
    expect(await board.complete(first.id, { summary: "by hand" })).toMatchObject({ status: "done" });
    const { tasks, counts } = await board.list({ status: ["ready"] });
    expect(tasks.map(({ id }) => id)).toEqual([second.id]);
    expect(counts).toMatchObject({ ready: 1, done: 1 });
    expect(await board.archive(second.id)).toMatchObject({ status: "archived" });
    expect(await board.reopen(second.id, { reason: "not yet" })).toMatchObject({ status: "ready" });
    const { task: daily } = await board.create("water the plants", { repeat: "0 9 * * *", timeZone: "Europe/Berlin" });
    expect(daily).toMatchObject({ repeat: "0 9 * * *", timeZone: "Europe/Berlin" });
  });

  test("refuses what is not there, and wrong types by their names", async () => {
    await using home = await createKanbanApp();
    await using holdfast = await openHoldfast({ environment: { HOLDFAST_HOME: home.home, PATH: process.env.PATH } });
    await expect(holdfast.board("nowhere").create("x")).rejects.toMatchObject({ code: "board-not-found" });
    await expect(holdfast.board().get("t_00000000")).rejects.toMatchObject({ code: "task-not-found" });
    await expect(holdfast.board().create("x", { colour: "red" } as never)).rejects.toMatchObject({ code: "invalid-input" });
    expect(() => holdfast.board(5 as never)).toThrow("slug must be a string");
  });
});
