/** @module Runs a command in the sandbox of a task. */
import * as z from "zod/mini";
import { parseSessionName } from "../../base/names.ts";
import type { CallOptions, CallResult, Command } from "../../sandbox/call.ts";
import { commandText } from "../../sandbox/call-input.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import { useSandbox } from "../sandbox-of-task.ts";
import { TaskInput } from "../schemas.ts";

const Recovery = z.object({ from: z.string(), to: z.string() });

const Output = z.object({
  exitCode: z.int(),
  signal: z.nullable(z.string()),
  timedOut: z.boolean(),
  interrupted: z.boolean(),
  cwd: z.string(),
  cwdRecovered: z.nullable(Recovery),
  output: z.string(),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean(),
  outputBytes: z.int(),
  outputFile: z.nullable(z.string()),
  durationMs: z.int(),
  session: z.string(),
  replaced: z.nullable(z.object({ lost: z.readonly(z.array(z.string())) })),
  restarted: z.boolean(),
  warnings: z.readonly(z.array(z.string())),
});

export const callRun = defineOperation({
  name: "call.run",
  summary: "Run a command in the sandbox of a task and wait for its end",
  input: z.strictObject({
    command: z.union([z.string(), z.array(z.string())]),
    task: TaskInput,
    session: z.optional(z.string()),
    timeoutSeconds: z.optional(z.number()),
    cwd: z.optional(z.string()),
    env: z.optional(z.record(z.string(), z.string())),
    stdin: z.optional(z.string()),
  }),
  output: Output,
  run: (app, { command, task, timeoutSeconds, session, cwd, env, stdin }): Promise<CallResult> =>
    runInSandbox(app, task, {
      command,
      ...(timeoutSeconds === undefined ? {} : { timeoutMs: timeoutSeconds * 1000 }),
      ...(session === undefined ? {} : { session }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      ...(stdin === undefined ? {} : { stdin }),
    }),
});

/** The same with streams, for surfaces that have them. */
export async function runInSandbox(
  app: App,
  task: string,
  { command, ...options }: CallOptions & { command: Command },
): Promise<CallResult> {
  // Also checked by the call itself; but a call that cannot be should not make a sandbox first.
  commandText(command);
  if (options.session !== undefined) parseSessionName(options.session);
  const lease = await useSandbox(app, task, options.signal);
  return lease.sandbox.run(command, options);
}
