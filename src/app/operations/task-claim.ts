/** @module Takes a task as a person, who then works on it in place of a worker. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { lastWorker } from "../../dispatcher/predecessors.ts";
import { readSettings } from "../../dispatcher/settings.ts";
import type { App } from "../create-app.ts";
import { isAliveHere } from "../end-worker.ts";
import { findTask } from "../find-task.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, RunShape, TaskShape } from "../task-shapes.ts";

export const taskClaim = defineOperation({
  name: "task.claim",
  summary: "Take a task and work on it oneself",
  input: z.strictObject({ id: z.string(), board: BoardInput, ttlMs: z.optional(z.int()) }),
  output: z.object({
    task: TaskShape,
    run: RunShape,
    /** Given out once: whoever has it acts as the run. */
    token: z.string(),
    /** What makes later calls act as the run. */
    env: z.record(z.string(), z.string()),
    /** Where its files belong; a scratch directory may have to be made. Null for a worktree whose place is not named. */
    workspace: z.nullable(z.string()),
  }),
  async run(app, { id, board, ttlMs }) {
    const kanban = await app.kanban();
    const by = kanban.person("claiming a task");
    const wanted = await findTask(kanban, { id, board });
    await assertLeft(app, wanted.id);
    const ttl = ttlMs ?? readSettings(kanban.options).settings.claimTtlMs;
    const { task, run, token } = await kanban.store.claim(wanted.id, { by, as: "person", profile: by, ttlMs: ttl, ignoreGuard: true });
    const [kind = "", path] = splitOnce(task.workspace);
    const workspace = path ?? (kind === "scratch" ? kanban.files.workspace(task.board, task.id) : null);
    const env = { HOLDFAST_TASK: task.id, HOLDFAST_RUN_TOKEN: token, HOLDFAST_BOARD: task.board };
    return { task, run, token, env, workspace };
  },
});

/** A worker that has said its last word may still write to the workspace. */
async function assertLeft(app: App, task: string): Promise<void> {
  const run = lastWorker(await (await app.kanban()).store.runs({ task }));
  // A run that is open is the store's to refuse.
  if (run === undefined || run.endedAt === null || !(await isAliveHere(app, run))) return;
  throw new HoldfastError("move-refused", `claim of ${task} is refused: the worker of its last run is still ending on this machine`, {
    hint: "try again in a moment; a dispatcher ends a worker that stays",
    facts: { task, run: run.id },
  });
}

function splitOnce(text: string): [string, string | undefined] {
  const colon = text.indexOf(":");
  return colon < 0 ? [text, undefined] : [text.slice(0, colon), text.slice(colon + 1)];
}
