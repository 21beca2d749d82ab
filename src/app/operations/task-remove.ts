/** @module Removes a task that is archived, with everything that belongs to it. */
import { dirname, join } from "node:path";
import * as z from "zod/mini";
import { listDirectory } from "../../base/list-directory.ts";
import type { Task } from "../../board/task.ts";
import { type KeptFile, removePath } from "../board-leftovers.ts";
import type { App } from "../create-app.ts";
import { endLeftWorkers } from "../end-worker.ts";
import { findTask } from "../find-task.ts";
import type { Kanban } from "../kanban.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput } from "../task-shapes.ts";
import { openWorkspaces } from "../task-workspaces.ts";

export const taskRemove = defineOperation({
  name: "task.remove",
  summary: "Remove a task that is archived, with its comments, runs, attachments, logs and workspace, for ever",
  input: z.strictObject({ id: z.string(), board: BoardInput }),
  output: z.object({
    removed: z.string(),
    /** A worktree with work that is nowhere else, and what could not be removed. */
    kept: z.readonly(z.array(z.object({ path: z.string(), why: z.string() }))),
  }),
  async run(app, { id, board }) {
    const kanban = await app.kanban();
    const by = kanban.person("removing a task");
    const task = await findTask(kanban, { id, board });
    if (task.status === "archived") await endLeftWorkers(app, await kanban.store.runs({ task: task.id }));
    // While its row can still say where its workspace is; the board refuses below what is not archived.
    const workspace = task.status === "archived" ? await removeWorkspace(app, task) : [];
    await kanban.store.removeTask(task.id, { by });
    return { removed: task.id, kept: [...workspace, ...(await removeFiles(kanban, task))] };
  },
});

async function removeWorkspace(app: App, task: Task): Promise<KeptFile[]> {
  // A directory of the user's is not ours to speak of.
  if (task.workspace.startsWith("dir:")) return [];
  const workspaces = await openWorkspaces(app);
  const { kept } = await workspaces.settle(task);
  const path = kept === null ? null : await workspaces.locate(task);
  return kept === null || path === null ? [] : [{ path, why: kept }];
}

async function removeFiles({ files }: Kanban, { id, board }: Task): Promise<KeptFile[]> {
  const log = files.log(board, id);
  const logs = listDirectory(dirname(log)).map((name) => join(dirname(log), name));
  const own = logs.filter((path) => path === log || path.startsWith(`${log}.`));
  const kept: KeptFile[] = [];
  for (const path of [files.attachments(board, id), ...own]) kept.push(...(await removePath(files, path)));
  return kept;
}
