/** @module What a driver is given in tests: the defaults of all options, the real clock, and silence. */
import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import type { DriverContext, DriverSettings } from "../../src/sandbox/driver-context.ts";
import { driverOptions } from "../../src/sandbox/driver-options.gen.ts";
import { sandboxOptions } from "../../src/sandbox/options.ts";

export function driverContext(given: Partial<DriverContext> & Pick<DriverContext, "sandboxDir">): DriverContext {
  return {
    hostEnv: {},
    daemonProgram: null,
    settings: defaultSettings(),
    isSet: () => true,
    variable: () => undefined,
    audit: () => {},
    // A process of its own, as far as the others can tell.
    swept: new Set(),
    clock: systemClock,
    log: silentLogger,
    ...given,
  };
}

export function defaultSettings(): DriverSettings {
  const options = Object.entries({ ...sandboxOptions, ...driverOptions });
  return Object.fromEntries(options.map(([name, { default: value }]) => [name, value])) as DriverSettings;
}
