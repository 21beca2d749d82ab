/** @module Attachments of a task: first the file, then the row that names it, and never one without the other. */
import { dirname } from "node:path";
import { describeError } from "../base/errors.ts";
import { type FileToKeep, keepFiles, removeCopies } from "../board/attachments.ts";
import type { Attachment } from "../board/notes.ts";
import type { Task } from "../board/task.ts";
import { type KeptFile, removePath } from "./board-leftovers.ts";
import { fromCaller } from "./caller-directory.ts";
import type { App } from "./create-app.ts";
import type { Kanban } from "./kanban.ts";

/**
 * All of them or none. A relative path is one in the worker's workspace, else in the caller's directory. A worker reaches nothing outside of
 * its workspace, and attaches to its own task only.
 */
export async function attachFiles(app: App, task: Pick<Task, "id" | "board">, files: readonly FileToKeep[]): Promise<Attachment[]> {
  if (files.length === 0) return [];
  const kanban = await app.kanban();
  const actor = kanban.actorFor(task.id);
  const within = kanban.worker === null ? null : app.environment.HOLDFAST_WORKSPACE || fromCaller(app, ".");
  const wanted = within === null ? files.map((file) => ({ ...file, path: file.path && fromCaller(app, file.path) })) : files;
  const saved = await keepFiles(kanban.files.attachments(task.board, task.id), wanted, { within });
  const { attach_max_files: most, attach_max_bytes: bytes } = kanban.options;
  const attached: Attachment[] = [];
  try {
    for (const each of saved) attached.push(await kanban.store.addAttachment(task.id, each, actor, { files: most, bytes }));
    return attached;
  } catch (error) {
    for (const each of attached) await detachFile(app, each);
    await removeCopies(saved.slice(attached.length));
    throw error;
  }
}

/** For what was attached a moment ago and counts no more. A row that cannot be removed keeps its file. */
export async function detachFile(app: App, attachment: Attachment): Promise<void> {
  const { id, task, name, path } = attachment;
  const kanban = await app.kanban();
  try {
    await kanban.store.removeAttachment(id, kanban.actorFor(task));
    const { board } = await kanban.store.getTask(task);
    for (const { why } of await removeAttachedFile(kanban, { board, task, path }))
      app.log.warn(`${path} was left behind: ${why}`, { path });
  } catch (error) {
    app.log.warn(`${name} stays attached to ${task}: ${describeError(error)}`, { attachment: id, path });
  }
}

/** Only what lies among the attachments of the task: a row could name anything. Says what stayed. */
export async function removeAttachedFile(
  { files }: Pick<Kanban, "files">,
  { board, task, path }: { board: string; task: string; path: string },
): Promise<KeptFile[]> {
  if (dirname(path) !== files.attachments(board, task)) return [{ path, why: `it is not among the files of ${task}` }];
  return await removePath(files, path);
}
