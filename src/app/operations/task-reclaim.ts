/** @module Takes a task from whoever works on it: revoked, made sure to have ended, and only then free again (K18). */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import type { Run } from "../../board/runs.ts";
import { mayLive } from "../../dispatcher/left-workers.ts";
import type { App } from "../create-app.ts";
import { endWorker, isAliveHere } from "../end-worker.ts";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, TaskShape } from "../task-shapes.ts";

/** What becomes of it, before anybody can take it again. */
const After = { block: z.optional(z.boolean()), assignee: z.optional(z.nullable(z.string())) };

export const taskReclaim = defineOperation({
  name: "task.reclaim",
  summary: "Take a task from its worker, which is ended; the task is free again, and its failures are forgotten",
  input: z.strictObject({ id: z.string(), board: BoardInput, reason: z.optional(z.string()), gone: z.optional(z.boolean()), ...After }),
  output: TaskShape,
  async run(app, { id, board, reason = "reclaimed by hand", gone = false, block = false, assignee }) {
    const kanban = await app.kanban();
    const by = kanban.person("reclaiming a task");
    const { store } = kanban;
    const { task, openRun: run } = await store.whyFacts((await findTask(kanban, { id, board })).id);
    if (run === null && gone && (await forgetLeft(app, task.id))) return task;
    if (run === null) {
      throw new HoldfastError("move-refused", `reclaim of ${task.id} is refused: it is ${task.status}, so nobody has it`, {
        facts: { task: task.id, status: task.status },
      });
    }
    if (gone) await assertGone(app, run);
    await store.revoke(run.id, { by, reason });
    // No worker can be recorded after that, but one may have been since the run was read.
    const revoked = (await store.runs({ task: task.id })).find((each) => each.id === run.id) ?? run;
    // Of a machine that is gone for good nobody can make sure; whoever says so knows it.
    await (gone ? assertGone(app, revoked) : endWorker(app, revoked));
    try {
      const after = { ...(block && { block: reason }), ...(assignee !== undefined && { assignee }) };
      return (await store.release(run.id, { by, outcome: "reclaimed", error: reason, forgetFailures: true, ...after })).task;
    } catch (error) {
      // A dispatcher has found the dead worker first, and has freed the task.
      if (HoldfastError.isInstance(error) && error.code === "claim-lost") return await store.getTask(task.id);
      throw error;
    }
  },
});

/** Workers that have outlived their last word where nobody can ask any more. @returns whether there was one */
async function forgetLeft(app: App, task: string): Promise<boolean> {
  const { store } = await app.kanban();
  const left = (await store.runs({ task })).filter(mayLive);
  for (const run of left) await assertGone(app, run);
  for (const { id } of left)
    await store.recordExit(id, { code: null, signal: null, reason: "stopped", error: "a person said that it is gone" });
  return left.length > 0;
}

async function assertGone(app: App, run: Run): Promise<void> {
  if (!(await isAliveHere(app, run))) return;
  throw new HoldfastError("move-refused", `reclaim of ${run.task} as gone is refused: its worker is alive on this machine`, {
    hint: `without --gone it is ended first: holdfast kanban reclaim ${run.task}`,
    facts: { task: run.task, run: run.id },
  });
}
