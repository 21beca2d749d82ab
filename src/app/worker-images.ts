/** @module Images of a task for workers whose model can see (K31). */
import type { Task } from "../board/task.ts";
import { imagesOf } from "../dispatcher/images/images-of.ts";
import type { Workspace } from "../dispatcher/workspace.ts";
import type { Kanban } from "./kanban.ts";

/** Their paths. */
export async function workerImages({ store, files }: Kanban, task: Task, workspace: Workspace): Promise<string[]> {
  const attachments = await store.attachments(task.id);
  const { images } = await imagesOf(task, { files, attachments, workspace: workspace.path });
  return images.map(({ path }) => path);
}
