/** @module Tells all there is to know about one sandbox. */
import * as z from "zod/mini";
import type { DaemonStatus } from "../../sandbox/daemon/status.ts";
import type { SandboxRef } from "../../sandbox/driver.ts";
import { differences } from "../../sandbox/spec.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import type { SandboxDetails } from "../results.ts";
import { existingSandbox } from "../sandbox-of-task.ts";
import { SandboxSummaryShape, SessionSummaryShape, summarize, TaskInput } from "../schemas.ts";
import { summarizeSession } from "./session-list.ts";

export const sandboxInspect = defineOperation({
  name: "sandbox.inspect",
  summary: "Show a sandbox: its sessions, what runs in it, and whether it still fits the configuration",
  input: z.strictObject({ task: TaskInput }),
  output: z.extend(SandboxSummaryShape, {
    fingerprint: z.string(),
    /** In what it differs from the configuration. */
    drift: z.readonly(z.array(z.object({ setting: z.string(), made: z.string(), wanted: z.string() }))),
    description: z.nullable(
      z.object({
        status: z.string(),
        image: z.nullable(z.string()),
        limits: z.record(z.string(), z.string()),
        weakened: z.readonly(z.array(z.string())),
      }),
    ),
    /** Null while it is stopped. */
    sessions: z.nullable(z.readonly(z.array(SessionSummaryShape))),
    /** Null where holdfastd does not run. */
    use: z.nullable(
      z.object({
        leases: z.readonly(z.array(z.object({ label: z.string(), connectedMs: z.int() }))),
        calls: z.int(),
        processes: z.int(),
        ptys: z.int(),
        lastUsedFor: z.string(),
        idleMs: z.int(),
        idleStopSeconds: z.int(),
        uptimeMs: z.int(),
      }),
    ),
    /** Null when the backend cannot tell. */
    processes: z.nullable(z.readonly(z.array(z.object({ pid: z.int(), command: z.string() })))),
  }),
  async run(app, { task }): Promise<SandboxDetails> {
    const own = await app.forTask(task);
    const ref = await existingSandbox(app, task);
    const [driver, spec] = await Promise.all([own.driver(), own.spec()]);
    return {
      ...summarize(ref),
      fingerprint: ref.fingerprint,
      drift: differences(ref, spec),
      description: driver.describe ? await driver.describe(ref) : null,
      // Looking must not start what is stopped.
      ...(ref.state === "running" ? await lookInside(own, ref) : { sessions: null, use: null, processes: [] }),
    };
  },
});

async function lookInside(app: App, ref: SandboxRef): Promise<Pick<SandboxDetails, "sessions" | "use" | "processes">> {
  const driver = await app.driver();
  const sandbox = await (await app.lifecycle()).visit(ref);
  const sessions = (await sandbox.sessions.list()).map(summarizeSession);
  return { sessions, use: withoutUs(await sandbox.status()), processes: driver.activity ? await driver.activity(ref) : null };
}

/** Asking takes a connection, which says nothing about who uses the sandbox. */
function withoutUs(status: DaemonStatus | null): DaemonStatus | null {
  return status && { ...status, leases: status.leases.filter(({ label }) => label !== `holdfast ${process.pid}`) };
}
