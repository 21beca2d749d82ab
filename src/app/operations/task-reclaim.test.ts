import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { createKanbanApp, type KanbanApp } from "../../../test/helpers/test-app.ts";
import { findProcess } from "../../base/process-tree.ts";
import { currentPlace } from "../../dispatcher/place.ts";
import { taskArchive } from "./task-archive.ts";
import { taskAssign } from "./task-assign.ts";
import { taskClaim } from "./task-claim.ts";
import { taskHeartbeat } from "./task-heartbeat.ts";
import { taskReclaim } from "./task-reclaim.ts";
import { taskRemove } from "./task-remove.ts";

test("K18 K32 what a person has claimed is taken back, and their token is worth nothing any more", async () => {
  await using board = await createKanbanApp();
  const { task } = await board.kanban.store.createTask({ title: "x", assignee: "writer" }, { by: "me" });
  await expect(taskReclaim.run(board.app, { id: task.id })).rejects.toMatchObject({ code: "move-refused" });
  const { env, workspace } = await taskClaim.run(board.app, { id: task.id });
  expect(workspace).toBe(board.kanban.files.workspace("default", task.id));
  const person = await board.open(env);
  expect(await taskHeartbeat.run(person, {})).toMatchObject({ task: task.id, profile: "default" });
  await expect(taskAssign.run(board.app, { id: task.id, assignee: "editor" })).rejects.toMatchObject({ code: "move-refused" });
  expect(await taskAssign.run(board.app, { id: task.id, assignee: "editor", reclaim: true })).toMatchObject({
    status: "ready",
    assignee: "editor",
  });
  await expect(taskHeartbeat.run(person, {})).rejects.toMatchObject({ code: "claim-lost" });
});

test("K18 a task stays with a worker that cannot be ended, though its claim is revoked", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const { task } = await store.createTask({ title: "x", assignee: "writer" }, { by: "me" });
  const { claim, app } = await board.work(task.id);
  await store.recordWorker(task.id, claim.token, { pid: 1 });
  await expect(taskReclaim.run(board.app, { id: task.id })).rejects.toMatchObject({ code: "unsupported" });
  expect(await store.getTask(task.id)).toMatchObject({ status: "running" });
  await expect(taskHeartbeat.run(app, {})).rejects.toMatchObject({ code: "claim-lost" });
});

test("K18 a worker that was recorded just before its claim was revoked is ended, too, before the task is free", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const { task } = await store.createTask({ title: "x", assignee: "writer" }, { by: "me" });
  const { claim } = await board.work(task.id);
  const { revoke } = store;
  Object.assign(store, {
    revoke: async (...args: Parameters<typeof revoke>) => {
      await store.recordWorker(task.id, claim.token, { pid: 1 });
      return await revoke(...args);
    },
  });
  await expect(taskReclaim.run(board.app, { id: task.id })).rejects.toMatchObject({ code: "unsupported" });
  expect(await store.getTask(task.id)).toMatchObject({ status: "running" });
});

/** A process of this machine that passes for the supervisor of the run. */
async function workerHere({ app, kanban: { store } }: KanbanApp, { task, token }: { task: string; token: string }) {
  const child = spawn("sleep", ["1000"]);
  const { pid = 0 } = child;
  const { install } = await app.owner("default");
  const supervisor = { pid, startedAt: findProcess(pid)?.startedAt ?? "" };
  await store.recordWorker(task, token, { place: currentPlace(install), supervisor, mark: "m", sandbox: "none", workspace: "/" });
  return {
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** One whose supervisor is dead, and that was in a sandbox. */
async function sandboxedWorker({ app, kanban: { store } }: KanbanApp, claim: { task: string; token: string }, address: object | null) {
  const place = currentPlace((await app.owner("default")).install);
  const record = { place, supervisor: { pid: 4_194_304, startedAt: "never" }, mark: "m", sandbox: "task", workspace: "/", address };
  await store.recordWorker(claim.task, claim.token, record);
}

/** In a container of an engine that cannot be asked any more. */
function awayAddress({ directory }: KanbanApp, task: string): object {
  const owner = { install: "i", profile: "writer", task };
  return {
    ref: { driver: "docker", id: "0123456789abcdef", owner, fingerprint: "f", state: "running", createdAt: 1 },
    directory,
    access: { settings: { label_prefix: "p" }, variables: { HOLDFAST_DOCKER_BINARY: "/nowhere/docker" }, engine: "docker E1" },
  };
}

test("K12 K18 a worker whose engine cannot be asked does not count as dead, whatever is configured now, until a person says so", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const { task } = await store.createTask({ title: "x", assignee: "writer" }, { by: "me" });
  const { claim } = await board.work(task.id);
  await sandboxedWorker(board, { task: task.id, token: claim.token }, awayAddress(board, task.id));
  await expect(taskReclaim.run(board.app, { id: task.id })).rejects.toMatchObject({
    code: "engine-not-found",
    message: expect.stringMatching(/does not count as dead: its sandbox 0123456789ab on docker \(docker E1\) cannot be asked: .*nowhere/),
    hint: expect.stringContaining(`holdfast kanban reclaim ${task.id} --gone`),
  });
  expect(await store.getTask(task.id)).toMatchObject({ status: "running" });
  expect(await taskReclaim.run(board.app, { id: task.id, gone: true })).toMatchObject({ status: "ready" });
});

test("K12 K18 a task is not removed while its last worker cannot be asked for, until a person has said that it is gone", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const { task } = await store.createTask({ title: "x", assignee: "writer" }, { by: "me" });
  const { claim } = await board.work(task.id);
  await sandboxedWorker(board, { task: task.id, token: claim.token }, awayAddress(board, task.id));
  await store.block(task.id, { reason: "no key" }, { token: claim.token });
  await taskArchive.run(board.app, { id: task.id });
  await expect(taskRemove.run(board.app, { id: task.id })).rejects.toMatchObject({
    hint: expect.stringContaining(`holdfast kanban reclaim ${task.id} --gone`),
  });
  expect(await taskReclaim.run(board.app, { id: task.id, gone: true })).toMatchObject({ status: "archived" });
  await taskRemove.run(board.app, { id: task.id });
  await expect(store.getTask(task.id)).rejects.toMatchObject({ code: "task-not-found" });
});

test("K18 a run whose supervisor ended before anything began in a sandbox is over, and nothing is asked", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const { task } = await store.createTask({ title: "x", assignee: "writer" }, { by: "me" });
  const { claim } = await board.work(task.id);
  await sandboxedWorker(board, { task: task.id, token: claim.token }, null);
  const app = await board.open({ TERMINAL_BACKEND: "docker", HOLDFAST_DOCKER_BINARY: "/nowhere/docker" });
  expect(await taskReclaim.run(app, { id: task.id })).toMatchObject({ status: "ready" });
});

test("K18 a worker that is alive on this machine is not taken for gone", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const { task } = await store.createTask({ title: "x", assignee: "writer" }, { by: "me" });
  const { claim } = await board.work(task.id);
  {
    await using _worker = await workerHere(board, { task: task.id, token: claim.token });
    await expect(taskReclaim.run(board.app, { id: task.id, gone: true })).rejects.toMatchObject({
      code: "move-refused",
      message: expect.stringContaining("alive on this machine"),
    });
    expect(await store.heartbeat(task.id, claim.token, { ttlMs: 60_000, active: true })).toBeDefined();
  }
  expect(await taskReclaim.run(board.app, { id: task.id, gone: true })).toMatchObject({ status: "ready" });
});

test("K18 a person does not get a task before the worker of its last run has ended", async () => {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const { task } = await store.createTask({ title: "x", assignee: "writer" }, { by: "me" });
  const { claim } = await board.work(task.id);
  {
    await using _worker = await workerHere(board, { task: task.id, token: claim.token });
    await store.block(task.id, { reason: "no key" }, { token: claim.token });
    await store.unblock(task.id, { by: "me" });
    await expect(taskClaim.run(board.app, { id: task.id })).rejects.toMatchObject({
      code: "move-refused",
      message: expect.stringContaining("still ending"),
    });
  }
  expect(await taskClaim.run(board.app, { id: task.id })).toMatchObject({ task: { status: "running" } });
});
