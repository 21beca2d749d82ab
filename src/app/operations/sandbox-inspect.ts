/** @module Tells all there is to know about one sandbox. */
import * as z from "zod/mini";
import type { DaemonStatus } from "../../sandbox/daemon/status.ts";
import { fingerprint } from "../../sandbox/spec.ts";
import { defineOperation } from "../operation.ts";
import type { SandboxDetails } from "../results.ts";
import { existingSandbox, useSandbox } from "../sandbox-of-task.ts";
import { SandboxSummaryShape, SessionSummaryShape, summarize, TaskInput } from "../schemas.ts";
import { sessionList } from "./session-list.ts";

export const sandboxInspect = defineOperation({
  name: "sandbox.inspect",
  summary: "Show a sandbox: its sessions, what runs in it, and whether it still fits the configuration",
  input: z.strictObject({ task: TaskInput }),
  output: z.extend(SandboxSummaryShape, {
    fingerprint: z.string(),
    /** The configuration has changed since it was made. */
    drifted: z.boolean(),
    sessions: z.readonly(z.array(SessionSummaryShape)),
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
    const ref = await existingSandbox(app, task);
    const [driver, spec, sessions, { sandbox }] = await Promise.all([
      app.driver(),
      app.spec(),
      sessionList.run(app, { task }),
      useSandbox(app, task),
    ]);
    return {
      ...summarize(ref),
      fingerprint: ref.fingerprint,
      drifted: ref.fingerprint !== fingerprint(spec),
      sessions,
      use: withoutUs(await sandbox.status()),
      processes: driver.activity ? await driver.activity(ref) : null,
    };
  },
});

/** Asking takes a connection, which says nothing about who uses the sandbox. */
function withoutUs(status: DaemonStatus | null): DaemonStatus | null {
  return status && { ...status, leases: status.leases.filter(({ label }) => label !== `holdfast ${process.pid}`) };
}
