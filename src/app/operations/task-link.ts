/** @module Makes one task wait for another, or no longer. */
import * as z from "zod/mini";
import type { Task } from "../../board/task.ts";
import type { App } from "../create-app.ts";
import { findTask } from "../find-task.ts";
import { checkHandOver } from "../hand-over.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape } from "../task-shapes.ts";

const Pair = z.strictObject({ board: BoardInput, parent: z.string(), child: z.string() });

export const taskLink = defineOperation({
  name: "task.link",
  summary: "Let a child wait until its parent is finished",
  input: Pair,
  /** The child as it is now. */
  output: TaskShape,
  run: (app, pair) => change(app, pair, "link"),
});

export const taskUnlink = defineOperation({
  name: "task.unlink",
  summary: "Let a child no longer wait for a parent",
  input: Pair,
  /** The child as it is now. */
  output: TaskShape,
  run: (app, pair) => change(app, pair, "unlink"),
});

async function change(app: App, { board, parent, child }: z.infer<typeof Pair>, action: "link" | "unlink"): Promise<Task> {
  const kanban = await app.kanban();
  const { assignee } = await findTask(kanban, { id: child, board });
  if (action === "link") await checkHandOver(app, kanban, { to: assignee, what: "a link to a task" });
  await kanban.store[action](parent, child, kanban.author);
  return kanban.store.getTask(child);
}
