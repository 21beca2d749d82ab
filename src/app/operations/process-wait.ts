/** @module Waits for the end of a background process. */
import * as z from "zod/mini";
import type { App } from "../create-app.ts";
import { findProcess } from "../find-process.ts";
import { defineOperation } from "../operation.ts";
import { TaskInput } from "../schemas.ts";

export interface ProcessEnd {
  readonly id: string;
  readonly exitCode: number;
  readonly signal: string | null;
}

export const processWait = defineOperation({
  name: "process.wait",
  summary: "Wait for the end of a background process and tell its status",
  input: z.strictObject({ task: TaskInput, process: z.string() }),
  output: z.object({ id: z.string(), exitCode: z.int(), signal: z.nullable(z.string()) }),
  run: (app, { task, process: wanted }) => waitForProcess(app, task, { wanted }),
});

/** The same, for surfaces whose users may lose patience. */
export async function waitForProcess(
  app: App,
  task: string,
  { wanted, signal }: { wanted: string; signal?: AbortSignal },
): Promise<ProcessEnd> {
  const { processes, info } = await findProcess(app, task, wanted);
  const { exitCode, signal: endedBy } = await processes.wait(info.id, signal ? { signal } : {});
  return { id: info.id, exitCode, signal: endedBy };
}
