/** @module Says that whoever has claimed a task still lives. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { readSettings } from "../../dispatcher/settings.ts";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, IdInput, RunShape } from "../task-shapes.ts";

export const taskHeartbeat = defineOperation({
  name: "task.heartbeat",
  summary: "Say that the worker lives, and keep the claim that much longer",
  input: z.strictObject({ id: IdInput, board: BoardInput, token: z.optional(z.string()) }),
  output: RunShape,
  async run(app, { id, board, token: given }) {
    const kanban = await app.kanban();
    const { id: task } = await findTask(kanban, { id, board });
    // First, whatever was given: a worker lives for its own task only.
    const actor = kanban.worker === null ? null : kanban.actorFor(task);
    const token = given ?? actor?.token;
    if (token === undefined) {
      throw new HoldfastError("invalid-input", `a heartbeat of ${task} needs the token of its run`, {
        hint: "`holdfast kanban claim` prints it; a worker has it in HOLDFAST_RUN_TOKEN",
        facts: { field: "token" },
      });
    }
    return kanban.store.heartbeat(task, token, { ttlMs: readSettings(kanban.options).settings.claimTtlMs });
  },
});
