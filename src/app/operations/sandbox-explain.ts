/** @module Says why a sandbox is kept, when it goes and what has become of earlier ones. */
import * as z from "zod/mini";
import type { SandboxRef } from "../../sandbox/driver.ts";
import { keepsFiles } from "../../sandbox/spec.ts";
import { type AuditRecord, readAuditLog } from "../audit-log.ts";
import type { App } from "../create-app.ts";
import { whatStays, whenItGoes, whyKept } from "../keeping.ts";
import { defineOperation } from "../operation.ts";
import type { SandboxExplanation } from "../results.ts";
import { findSandbox } from "../sandbox-of-task.ts";
import { SandboxSummaryShape, summarize, TaskInput } from "../schemas.ts";
import { readTaskSettings } from "../task-settings.ts";

/** Of earlier sandboxes. */
const SHOWN = 5;

export const sandboxExplain = defineOperation({
  name: "sandbox.explain",
  summary: "Say why the sandbox of a task is kept, when it goes, and what became of earlier ones",
  input: z.strictObject({ task: TaskInput }),
  output: z.object({
    task: z.string(),
    backend: z.string(),
    /** Null: there is none now. */
    sandbox: z.nullable(SandboxSummaryShape),
    why: z.string(),
    goes: z.readonly(z.array(z.string())),
    stays: z.string(),
    /** Settings that the task has for itself, by key. */
    chosen: z.record(z.string(), z.string()),
    /** What became of it, or of earlier ones, the latest last. */
    history: z.readonly(z.array(z.string())),
  }),
  async run(app, { task }): Promise<SandboxExplanation> {
    const own = await app.forTask(task);
    const ref = await findSandbox(app, task);
    const { name: backend, capabilities } = await own.driver();
    const rules = (await own.config()).values.terminal;
    const entries = readAuditLog(app.auditFile).filter((entry) => entry.task === task);
    return {
      task,
      backend,
      ...(await fate(app, ref, { rules, isolatesFiles: capabilities.isolatesFiles })),
      stays: whatStays({ kept: keepsFiles(ref) ?? rules.container_persistent, isolatesFiles: capabilities.isolatesFiles }),
      chosen: { ...readTaskSettings(app.profile.home, task)?.settings },
      history: entries.slice(-SHOWN).map(inWords),
    };
  },
});

type Rules = Omit<Parameters<typeof whenItGoes>[1], "now">;

async function fate(app: App, ref: SandboxRef | null, rules: Rules): Promise<Pick<SandboxExplanation, "sandbox" | "why" | "goes">> {
  if (ref === null) return { sandbox: null, why: "there is none now; the next command of the task makes one", goes: [] };
  const sandbox = summarize(ref);
  return { sandbox, why: whyKept(sandbox, rules), goes: whenItGoes(sandbox, { ...rules, now: app.clock.now() }) };
}

function inWords({ time, what, sandbox, reason, by, error }: AuditRecord): string {
  const how = error === undefined ? what : `not ${what} (${error})`;
  return `${time}: ${sandbox} was ${how}: ${reason}; by ${by.program}, process ${by.pid} on ${by.host}`;
}
