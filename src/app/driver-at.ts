/** @module The driver of a sandbox that was recorded, as it was reached then: whatever is configured by now, and whatever its profile is called. */
import { HoldfastError } from "../base/errors.ts";
import { withoutCredentials } from "../config/child-environment.ts";
import type { SandboxAddress } from "../dispatcher/worker.ts";
import { createVisits, type Visits } from "../lifecycle/visit.ts";
import type { SandboxDriver } from "../sandbox/driver.ts";
import type { DriverSettings } from "../sandbox/driver-context.ts";
import { driverOptions } from "../sandbox/driver-options.gen.ts";
import { sandboxOptions } from "../sandbox/options.ts";
import { DRIVERS } from "../sandbox/registry.gen.ts";
import { withLimits } from "../sandbox/with-limits.ts";
import { withLog } from "../sandbox/with-log.ts";
import { type App, outputLimits } from "./create-app.ts";
import { daemonProgram } from "./daemon-program.ts";

export interface DriverAt extends AsyncDisposable {
  readonly driver: SandboxDriver;
  readonly visit: Visits["visit"];
}

export async function openDriverAt(app: App, { ref, directory, access }: SandboxAddress): Promise<DriverAt> {
  const { clock, log, audit } = app;
  const settings: DriverSettings = { ...DEFAULTS, ...access?.settings };
  const variables: Readonly<Record<string, string | null>> = access?.variables ?? {};
  const hostEnv = withoutCredentials({ ...app.environment, ...absentForNull(variables) });
  const { createDriver } = await entryOf(ref.driver).load();
  const driver = createDriver({
    sandboxDir: directory,
    hostEnv,
    // It knows what has left the tree of a worker, also where new sandboxes are to be without it.
    daemonProgram: daemonProgram("auto"),
    settings,
    isSet: () => false,
    variable: (name) => variables[name] ?? undefined,
    audit,
    // It comes for one sandbox, and looks for no orphans.
    swept: new Set([ref.owner.install]),
    clock,
    log,
  });
  const limited = withLimits(withLog(driver, { clock, log }), { clock, log });
  const visits = createVisits(limited, {
    clock,
    limits: outputLimits(settings, app.profile),
    defaultTimeoutMs: settings.timeout * 1000,
    startDirectory: "/",
  });
  return { driver: limited, visit: visits.visit, [Symbol.asyncDispose]: () => visits.close() };
}

const DEFAULTS = Object.fromEntries(
  Object.entries({ ...sandboxOptions, ...driverOptions }).map(([name, { default: value }]) => [name, value]),
) as DriverSettings;

function entryOf(name: string) {
  const known: Readonly<Record<string, (typeof DRIVERS)[keyof typeof DRIVERS]>> = DRIVERS;
  const entry = Object.hasOwn(known, name) ? known[name] : undefined;
  if (entry !== undefined) return entry;
  throw new HoldfastError("unsupported", `this version of Holdfast has no ${name} backend`, { facts: { backend: name } });
}

function absentForNull(variables: Readonly<Record<string, string | null>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, value ?? undefined]));
}
