/** @module Stops a sandbox: what runs in it ends, its files stay. */
import * as z from "zod/mini";
import { describeError, HoldfastError } from "../../base/errors.ts";
import { refuseIfBusy } from "../busy.ts";
import { defineOperation } from "../operation.ts";
import { existingSandbox } from "../sandbox-of-task.ts";
import { SandboxSummaryShape, summarize } from "../schemas.ts";

export const sandboxStop = defineOperation({
  name: "sandbox.stop",
  summary: "Stop a sandbox; its files stay, and the next use starts it again",
  input: z.strictObject({ task: z.string(), force: z._default(z.boolean(), false) }),
  output: z.object({ stopped: SandboxSummaryShape }),
  async run(app, { task, force }) {
    const own = await app.forTask(task);
    const driver = await own.driver();
    const ref = await existingSandbox(app, task);
    if (!driver.stop)
      throw new HoldfastError(
        "unsupported",
        `a sandbox of the ${driver.name} backend cannot be stopped: it is made of nothing but its processes`,
        {
          hint: "`holdfast process kill` ends a process, `holdfast sandbox rm` all of it",
          facts: { backend: driver.name },
        },
      );
    if (ref.state === "stopped") return { stopped: summarize(ref) };
    if (!force) await refuseIfBusy(own, ref);
    const about = { what: "stopped", sandbox: ref.id, backend: ref.driver, profile: ref.owner.profile, task, reason: "asked for" } as const;
    try {
      await driver.stop(ref);
    } catch (error) {
      own.audit({ ...about, error: describeError(error) });
      throw error;
    }
    own.audit(about);
    return { stopped: summarize({ ...ref, state: "stopped", stoppedAt: app.clock.now() }) };
  },
});
