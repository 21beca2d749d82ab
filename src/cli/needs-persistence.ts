/** @module Refuses what would be gone as soon as a command line has ended. */
import type { App } from "../app/create-app.ts";
import { HoldfastError } from "../base/errors.ts";

/** @throws `unsupported` when the task's sandbox goes with this process; `what` is to outlive it. */
export async function refuseFleeting(app: App, task: string, what: string): Promise<void> {
  const { persist, backend } = await (await app.forTask(task)).spec();
  if (persist) return;
  throw new HoldfastError("unsupported", `the sandbox of task ${task} does not persist, so ${what} would be gone when this command ends`, {
    hint: "set terminal.docker_persist_across_processes to true; a program that uses the library keeps it for as long as it runs",
    facts: { task, backend },
  });
}
