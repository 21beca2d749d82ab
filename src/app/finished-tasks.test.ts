import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createKanbanApp, type KanbanApp } from "../../test/helpers/test-app.ts";
import { findProcess } from "../base/process-tree.ts";
import { currentPlace } from "../dispatcher/place.ts";
import { leftSandboxes } from "./left-behind.ts";
import { boardCollect } from "./operations/board-collect.ts";
import { dispatchOnce } from "./operations/dispatch-once.ts";
import { sandboxRemove } from "./operations/sandbox-remove.ts";
import { useSandbox } from "./sandbox-of-task.ts";

const SLOW = 60_000;
const DEAD = { pid: 4_194_304, startedAt: "never" };

/** A board whose tasks of `writer` have been worked on, each in its sandbox and workspace. */
async function openBoard() {
  const board = await createKanbanApp({ profiles: ["writer"] });
  const { app, kanban } = board;
  const { store, files } = kanban;
  const { install } = await app.owner("default");
  const writer = await app.forProfile("writer");
  const made: string[] = [];
  const sandbox = async (name: string) => {
    await useSandbox(writer, name);
    made.push(name);
  };
  return {
    ...board,
    store,
    sandbox,
    /** Its worker has told its end, unless `supervisor` or `place` say otherwise. */
    async worked({ parents = [], end = "complete", supervisor = DEAD, place = currentPlace(install) }: Worked = {}) {
      const { task } = await store.createTask({ title: "x", assignee: "writer", parents }, { by: "me" });
      const { claim } = await board.work(task.id);
      const workspace = files.workspace("default", task.id);
      await mkdir(workspace, { recursive: true });
      await sandbox(task.id);
      await store.recordWorker(task.id, claim.token, { place, supervisor, mark: `m-${task.id}`, sandbox: "task", workspace });
      if (end === "complete") await store.complete(task.id, {}, { token: claim.token });
      else await store.block(task.id, { reason: "a question" }, { token: claim.token });
      if (supervisor === DEAD && place.install === install)
        await store.recordExit(claim.run.id, { code: 0, signal: null, reason: "exited" });
      return task.id;
    },
    /** What is left of these tasks. */
    async left(...tasks: string[]) {
      const sandboxes = (await leftSandboxes(app, app.log)).filter(({ task }) => tasks.includes(task)).map(({ task }) => task);
      return { sandboxes: sandboxes.toSorted(), workspaces: tasks.filter((id) => existsSync(files.workspace("default", id))).toSorted() };
    },
    async [Symbol.asyncDispose]() {
      for (const task of made) await sandboxRemove.run(writer, { task, force: true, files: true }).catch(() => {});
      await writer.close();
      await board[Symbol.asyncDispose]();
    },
  };
}

interface Worked {
  readonly parents?: readonly string[];
  readonly end?: "complete" | "block";
  readonly supervisor?: { readonly pid: number; readonly startedAt: string };
  readonly place?: ReturnType<typeof currentPlace>;
}

const WAYS: [string, (app: KanbanApp["app"], dryRun: boolean) => Promise<unknown>][] = [
  ["a dispatcher that looks once", (app, dryRun) => dispatchOnce.run(app, { dryRun })],
  ["who collects garbage", (app, dryRun) => boardCollect.run(app, { eventDays: 30, logDays: 30, dryRun })],
];

describe.each(WAYS)("%s", (_, act) => {
  test(
    "K30 removes the sandbox and the workspace of a finished task, not in a dry run, and of no other",
    async () => {
      await using board = await openBoard();
      const [done, asks] = [await board.worked(), await board.worked({ end: "block" })];
      await board.sandbox("mine");
      await board.sandbox("t_00000000");
      await act(board.app, true);
      expect(await board.left(done)).toEqual({ sandboxes: [done], workspaces: [done] });
      await act(board.app, false);
      expect(await board.left(done)).toEqual({ sandboxes: [], workspaces: [] });
      expect(await board.left(asks)).toEqual({ sandboxes: [asks], workspaces: [asks] });
      expect((await board.left("mine", "t_00000000")).sandboxes).toEqual(["mine", "t_00000000"]);
      expect(board.warnings).toEqual([]);
    },
    SLOW,
  );

  test(
    "K30 leaves the workspace that an unfinished child needs, and all of a task whose worker is still there or on another machine",
    async () => {
      await using board = await openBoard();
      const parent = await board.worked();
      await board.store.createTask({ title: "child", parents: [parent] }, { by: "me" });
      const supervisor = { pid: process.pid, startedAt: findProcess(process.pid)?.startedAt ?? "" };
      const alive = await board.worked({ supervisor });
      const elsewhere = await board.worked({ place: { install: "another", boot: "b", pids: "p" } });
      await act(board.app, false);
      expect(await board.left(parent)).toEqual({ sandboxes: [], workspaces: [parent] });
      expect(await board.left(alive)).toEqual({ sandboxes: [alive], workspaces: [alive] });
      expect(await board.left(elsewhere)).toEqual({ sandboxes: [elsewhere], workspaces: [elsewhere] });
    },
    SLOW,
  );
});

test(
  "K30 gc says which sandboxes went, and which would",
  async () => {
    await using board = await openBoard();
    const id = await board.worked();
    const sandboxes = { removed: [{ task: id, profile: "writer", why: `${id} is done` }], kept: [] };
    const collect = (dryRun: boolean) => boardCollect.run(board.app, { eventDays: 30, logDays: 30, dryRun });
    expect(await collect(true)).toMatchObject({ sandboxes });
    expect(await collect(false)).toMatchObject({ sandboxes });
    expect(await collect(false)).toMatchObject({ sandboxes: { removed: [], kept: [] } });
  },
  SLOW,
);
