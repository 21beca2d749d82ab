/** @module Makes or starts the sandbox of a task, which may name an image or a backend of its own (S45). */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { parseTaskName } from "../../base/names.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import { findSandbox, useSandbox } from "../sandbox-of-task.ts";
import { SandboxSummaryShape, summarize, TaskInput } from "../schemas.ts";
import { readTaskSettings, settingsFor, type TaskChoice, writeTaskSettings } from "../task-settings.ts";

export const sandboxUp = defineOperation({
  name: "sandbox.up",
  summary: "Make the sandbox of a task, or start it, before its first command",
  input: z.strictObject({ task: TaskInput, image: z.optional(z.string()), backend: z.optional(z.string()) }),
  output: z.object({ sandbox: SandboxSummaryShape, origin: z.enum(["created", "found"]) }),
  async run(app, { task, image, backend }) {
    await chooseForTask(app, task, { image, backend });
    const { sandbox, origin } = await useSandbox(app, task);
    return { sandbox: summarize({ ...sandbox.ref, state: "running", stoppedAt: undefined }), origin };
  },
});

/** @throws `invalid-input` when the task has a sandbox already, made with something else; `config-bad-value` for what is no backend */
export async function chooseForTask(app: App, task: string, choice: TaskChoice): Promise<void> {
  const name = parseTaskName(task);
  const before = readTaskSettings(app.profile.home, name)?.settings ?? {};
  const { backend: current } = (await (await app.forTask(name)).config()).values.terminal;
  const settings = { ...before, ...settingsFor(choice, current) };
  if (sameSettings(settings, before)) return;
  const existing = await findSandbox(app, name);
  if (existing)
    throw new HoldfastError("invalid-input", `task ${name} has a sandbox already, on the ${existing.driver} backend`, {
      hint: `a task chooses before its first call; \`holdfast sandbox rm ${name}\` removes the one it has`,
      facts: { task: name, sandbox: existing.id, ...choice },
    });
  // A mistake is refused before it is written down.
  await (await app.withSettings({ task: name, settings })).config();
  await writeTaskSettings(app.profile.home, { task: name, settings });
}

function sameSettings(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const sorted = (of: object) => JSON.stringify(Object.entries(of).sort());
  return sorted(a) === sorted(b);
}
