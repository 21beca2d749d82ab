/** @module Completes a task. What it declares is looked at first, so that a refused completion changes nothing and counts for nothing (K29, K30). */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { refusal, refusedToPerson } from "../../board/refusal.ts";
import type { Task } from "../../board/task.ts";
import { isFinished } from "../../board/transitions.ts";
import { attachFiles, detachFile } from "../attach.ts";
import { findTask } from "../find-task.ts";
import type { Kanban } from "../kanban.ts";
import { defineOperation } from "../operation.ts";
import { AttachmentShape, BoardInput, IdInput, TaskShape } from "../task-shapes.ts";

export const taskComplete = defineOperation({
  name: "task.complete",
  summary: "Complete a task, with what shall be handed to those that waited for it",
  input: z.strictObject({
    id: IdInput,
    board: BoardInput,
    summary: z.optional(z.string()),
    metadata: z.optional(z.record(z.string(), z.unknown())),
    /** Files that are saved as attachments before it counts as done. */
    artifacts: z.optional(z.array(z.string())),
    /** Tasks that were made on the way; they must exist. */
    created: z.optional(z.array(z.string())),
    cost: z.optional(z.number()),
    tokens: z.optional(z.int()),
  }),
  output: z.object({ task: TaskShape, artifacts: z.array(AttachmentShape) }),
  async run(app, { id, board, artifacts: paths = [], created = [], metadata, ...handover }) {
    const kanban = await app.kanban();
    const task = await findTask(kanban, { id, board });
    const actor = kanban.actorFor(task.id);
    await checkCreated(kanban, task, created);
    if (paths.length > 0) await refuseEarly(kanban, task);
    const artifacts = await attachFiles(
      app,
      task,
      paths.map((path) => ({ path })),
    );
    const known = {
      ...metadata,
      ...(created.length > 0 && { created }),
      ...(artifacts.length > 0 && { artifacts: artifacts.map(({ name }) => name) }),
    };
    try {
      const done = await kanban.store.complete(
        task.id,
        { ...handover, metadata: Object.keys(known).length > 0 ? known : undefined },
        actor,
      );
      return { task: done, artifacts };
    } catch (error) {
      for (const artifact of artifacts) await detachFile(app, artifact);
      throw error;
    }
  },
});

/** A worker that names tasks nobody made has only imagined its work. */
async function checkCreated({ store }: Kanban, task: Task, created: readonly string[]): Promise<void> {
  for (const id of created) {
    const found = await store.getTask(id).catch((error: unknown) => {
      if (HoldfastError.isInstance(error) && error.code === "task-not-found") return null;
      throw error;
    });
    if (found !== null && found.board === task.board) continue;
    const why = found === null ? "which does not exist" : `which is not on the board ${task.board}`;
    throw new HoldfastError(
      "move-refused",
      `complete of ${task.id} is refused: it names ${JSON.stringify(id.slice(0, 80))} as created, ${why}`,
      {
        hint: "name only tasks that were really made; nothing has changed",
        facts: { task: task.id, created: id.slice(0, 80) },
      },
    );
  }
}

/** What the board would refuse should be known before files are copied for it. */
async function refuseEarly({ store, worker }: Kanban, task: Task): Promise<void> {
  if (worker !== null) await store.heartbeat(task.id, worker.token);
  const { unfinishedParents } = await store.whyFacts(task.id);
  if (worker === null && task.status === "running") throw refusedToPerson(task, "complete");
  const reason = unfinishedParents.length > 0 ? "it has an unfinished parent" : isFinished(task.status) ? `it is ${task.status}` : null;
  if (reason !== null) throw refusal(task, "complete", reason);
}
