/** @module Looks whether every backend works, and says what to do where one does not. */
import * as z from "zod/mini";
import { describeError } from "../../base/errors.ts";
import { DEFAULT_PROFILE, DEFAULT_TASK } from "../../base/names.ts";
import { envFileWarning } from "../../config/env-file.ts";
import { readSettings } from "../../dispatcher/settings.ts";
import { DRIVERS } from "../../sandbox/registry.gen.ts";
import { type App, noEffectIn } from "../create-app.ts";
import { DAEMON_FIX, findDaemon } from "../daemon-program.ts";
import { defineOperation } from "../operation.ts";
import type { DoctorReport } from "../results.ts";

export const doctor = defineOperation({
  name: "doctor",
  summary: "Check every backend: ready, not applicable or broken, with the reason and the fix",
  input: z.strictObject({}),
  output: z.object({
    /** The configured backend. */
    backend: z.string(),
    healthy: z.boolean(),
    home: z.object({ path: z.string(), problem: z.nullable(z.string()), warnings: z.readonly(z.array(z.string())) }),
    daemon: z.object({ status: z.enum(["used", "off", "missing"]), detail: z.string(), fix: z.nullable(z.string()) }),
    backends: z.readonly(
      z.array(
        z.object({
          name: z.string(),
          configured: z.boolean(),
          status: z.enum(["ready", "not-applicable", "broken"]),
          detail: z.string(),
          fix: z.nullable(z.string()),
          warnings: z.readonly(z.array(z.string())),
        }),
      ),
    ),
  }),
  async run(app): Promise<DoctorReport> {
    const { backend: configured, daemon } = (await app.config()).values.terminal;
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
          warnings: (found.status === "ready" && found.warnings) || [],
        };
      }),
    );
    const home = await checkHome(app);
    return {
      backend: configured,
      healthy: home.problem === null && backends.some((backend) => backend.configured && backend.status === "ready"),
      home,
      daemon: checkDaemon(daemon),
      backends: backends.filter((backend) => backend.configured || !backend.testOnly).map(({ testOnly, ...shown }) => shown),
    };
  },
});

/** Settings of the boards that are accepted and do nothing. */
async function kanbanWarnings(app: App): Promise<string[]> {
  const config = await app.config();
  if (app.profile.name === DEFAULT_PROFILE) return [...readSettings(config.values.kanban).warnings];
  return [...config.entries()].flatMap(({ key, source }) =>
    key.section === "kanban" && (source.kind === "file" || source.kind === "dotenv") ? noEffectIn(app.profile.name, key.key) : [],
  );
}

const WITHOUT_DAEMON = "calls take several times as long, and there are no background processes, terminals and copies of trees";

function checkDaemon(wanted: "auto" | "off" | "required"): DoctorReport["daemon"] {
  if (wanted === "off") {
    const fix = "set it to `auto` with `holdfast config set terminal.daemon auto`";
    return { status: "off", detail: `terminal.daemon is off: ${WITHOUT_DAEMON}`, fix };
  }
  const program = findDaemon();
  if (program !== null) return { status: "used", detail: program, fix: null };
  return { status: "missing", detail: `holdfastd was not built for this machine: ${WITHOUT_DAEMON}`, fix: DAEMON_FIX };
}

/** Makes the home if it is not there yet, as the first call would: whether that works is what people want to know. */
async function checkHome(app: App): Promise<DoctorReport["home"]> {
  const path = app.profiles.root;
  const warnings = [envFileWarning(app.profile.home) ?? [], await kanbanWarnings(app)].flat();
  try {
    await app.owner(DEFAULT_TASK);
    return { path, problem: null, warnings };
  } catch (error) {
    return { path, problem: describeError(error), warnings };
  }
}
