/** @module Lists the sessions in the sandbox of a task. */
import * as z from "zod/mini";
import type { SessionInfo } from "../../sandbox/session/sessions.ts";
import { defineOperation } from "../operation.ts";
import type { SessionSummary } from "../results.ts";
import { findSandbox, visitSandbox } from "../sandbox-of-task.ts";
import { SessionSummaryShape, TaskInput } from "../schemas.ts";

export const sessionList = defineOperation({
  name: "session.list",
  summary: "List the sessions in the sandbox of a task",
  input: z.strictObject({ task: TaskInput }),
  output: z.readonly(z.array(SessionSummaryShape)),
  async run(app, { task }) {
    if ((await findSandbox(app, task)) === null) return [];
    const sandbox = await visitSandbox(app, task);
    const sessions = await sandbox.sessions.list();
    return sessions.map(summarizeSession);
  },
});

export function summarizeSession({ name, cwd, lastUsedAt }: SessionInfo): SessionSummary {
  return { name, cwd, lastUsedAt: new Date(lastUsedAt).toISOString() };
}
