import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { createKanbanApp, type KanbanApp } from "../../test/helpers/test-app.ts";
import { exitOf } from "../board/exit.ts";
import { MARK } from "../dispatcher/job.ts";
import { currentPlace } from "../dispatcher/place.ts";
import { boardCollect } from "./operations/board-collect.ts";
import { boardRemove } from "./operations/board-remove.ts";
import { dispatchOnce } from "./operations/dispatch-once.ts";
import { profileRename } from "./operations/profile-rename.ts";
import { taskArchive } from "./operations/task-archive.ts";
import { taskRemove } from "./operations/task-remove.ts";

/** A worker that has completed its task and goes on, and whose supervisor was killed. */
async function leftWorker({ app, kanban: { store, files }, work }: KanbanApp) {
  await store.createBoard("site", { by: "me" });
  const { task } = await store.createTask({ title: "x", board: "site", assignee: "writer" }, { by: "me" });
  const { claim } = await work(task.id);
  await mkdir(files.workspace("site", task.id), { recursive: true });
  const mark = `left-${task.id}`;
  const child = spawn("sleep", ["1000"], { env: { ...process.env, [MARK]: mark } });
  const { install } = await app.owner("default");
  const supervisor = { pid: 4_194_304, startedAt: "never" };
  const record = { place: currentPlace(install), supervisor, mark, sandbox: "none", workspace: "/" };
  await store.recordWorker(task.id, claim.token, record);
  await store.complete(task.id, {}, { token: claim.token });
  const ended = once(child, "exit").then(([, signal]) => signal);
  return {
    task: task.id,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

test.each([
  ["looks over the board once", ({ app }: KanbanApp) => dispatchOnce.run(app, { board: "site", dryRun: false })],
  [
    "removes the task",
    async ({ app }: KanbanApp, id: string) => {
      await taskArchive.run(app, { id, board: "site" });
      await taskRemove.run(app, { id, board: "site" });
    },
  ],
  ["removes the board", ({ app }: KanbanApp) => boardRemove.run(app, { slug: "site", confirm: "site" })],
  [
    "renames its profile",
    async ({ app }: KanbanApp, task: string) => {
      await app.profiles.create("writer");
      await profileRename.run(app, { from: "writer", to: "author", removeSandboxes: false });
      // Where it was found before, nobody looks again.
      const { store } = await app.kanban();
      expect((await store.runs({ task })).map(exitOf)).toMatchObject([{ reason: "stopped" }]);
    },
  ],
  ["collects what is left", ({ app }: KanbanApp) => boardCollect.run(app, { board: "site", eventDays: 30, logDays: 30, dryRun: false })],
])(
  "K18 K30 a worker that outlived its last word and its supervisor is ended by who %s",
  async (_, act) => {
    await using board = await createKanbanApp();
    await using left = await leftWorker(board);
    await act(board, left.task);
    expect(await Promise.race([left.ended, new Promise((resolve) => setTimeout(resolve, 3000, "it lives"))])).toBe("SIGTERM");
  },
  30_000,
);
