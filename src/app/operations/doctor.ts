/** @module Looks whether every backend works, and says what to do where one does not. */
import * as z from "zod/mini";
import { DRIVERS } from "../../sandbox/registry.gen.ts";
import { defineOperation } from "../operation.ts";
import type { DoctorReport } from "../results.ts";

export const doctor = defineOperation({
  name: "doctor",
  summary: "Check every backend: ready, not applicable or broken, with the reason and the fix",
  input: z.strictObject({}),
  output: z.object({
    /** The configured backend. */
    backend: z.string(),
    /** It is ready. */
    healthy: z.boolean(),
    backends: z.readonly(
      z.array(
        z.object({
          name: z.string(),
          configured: z.boolean(),
          status: z.enum(["ready", "not-applicable", "broken"]),
          detail: z.string(),
          fix: z.nullable(z.string()),
        }),
      ),
    ),
  }),
  async run(app): Promise<DoctorReport> {
    const configured = (await app.config()).values.terminal.backend;
    const names = Object.keys(DRIVERS) as (keyof typeof DRIVERS)[];
    const backends = await Promise.all(
      names.map(async (name) => {
        const driver = await app.driverNamed(name);
        const found = await driver.check();
        return {
          name,
          testOnly: driver.capabilities.testOnly,
          configured: name === configured,
          status: found.status,
          detail: found.status === "ready" ? found.detail : found.reason,
          fix: found.status === "broken" ? found.fix : null,
        };
      }),
    );
    return {
      backend: configured,
      healthy: backends.some((backend) => backend.configured && backend.status === "ready"),
      backends: backends.filter((backend) => backend.configured || !backend.testOnly).map(({ testOnly, ...shown }) => shown),
    };
  },
});
