/** @module Starts a background process in the sandbox of a task. */
import * as z from "zod/mini";
import { parseSessionName } from "../../base/names.ts";
import type { Command } from "../../sandbox/call.ts";
import { commandText } from "../../sandbox/call-input.ts";
import type { Processes, ProcessInfo, ProcessOptions } from "../../sandbox/process.ts";
import { showInstead } from "../../sandbox/shown-command.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import { ProcessInfoShape } from "../process-shapes.ts";
import { useSandbox } from "../sandbox-of-task.ts";
import { TaskInput } from "../schemas.ts";

const TerminalSizeShape = z.object({ rows: z.int(), columns: z.int() });

export const processStart = defineOperation({
  name: "process.start",
  summary: "Start a command in the background; it goes on after its starter has ended",
  input: z.strictObject({
    command: z.union([z.string(), z.array(z.string())]),
    task: TaskInput,
    name: z.optional(z.string()),
    session: z.optional(z.string()),
    cwd: z.optional(z.string()),
    env: z.optional(z.record(z.string(), z.string())),
    stdin: z.optional(z.boolean()),
    tty: z.optional(TerminalSizeShape),
    keepBytes: z.optional(z.int()),
  }),
  output: ProcessInfoShape,
  async run(app, { command, task, ...given }): Promise<ProcessInfo> {
    // What was left out must not be there at all.
    const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as ProcessOptions;
    return (await startInSandbox(app, task, { command, options })).info;
  },
});

export interface StartRequest {
  readonly command: Command;
  readonly options: ProcessOptions;
  /** What lists show in place of the command. */
  readonly shown?: string;
  readonly signal?: AbortSignal;
}

/** The same, with what can be done with it next, and the sandbox it is in. */
export async function startInSandbox(
  app: App,
  task: string,
  { command, options, shown, signal }: StartRequest,
): Promise<{ processes: Processes; info: ProcessInfo; sandboxId: string }> {
  // Also checked by the start itself; but one that cannot be should not make a sandbox first.
  commandText(command);
  if (options.session !== undefined) parseSessionName(options.session);
  const { sandbox } = await useSandbox(app, task, signal);
  const info = await sandbox.processes.start(command, shown === undefined ? options : showInstead(options, shown));
  return { processes: sandbox.processes, info, sandboxId: sandbox.ref.id };
}
