/** @module What a driver is given when it is made. Drivers read nothing else from the outside: no variables, no clock, no configuration. */
import type { Audit } from "../base/audit.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { OptionValues } from "../base/option.ts";
import type { SandboxDriver } from "./driver.ts";
import type { driverOptions } from "./driver-options.gen.ts";
import type { sandboxOptions } from "./options.ts";

export type DriverSettings = OptionValues<typeof sandboxOptions & typeof driverOptions>;

export interface DriverContext {
  /** Where the profile's sandboxes keep their files on the host; each driver uses the folder with its own name in it. */
  readonly sandboxDir: string;
  /** What commands on the host itself may inherit: the caller's variables without credentials. */
  readonly hostEnv: Readonly<Record<string, string>>;
  /** The holdfastd to run in sandboxes; null: without one. */
  readonly daemonProgram: string | null;
  /** Of the options that belong to backends. */
  readonly settings: DriverSettings;
  /** Whether somebody has set it, wherever. That a default cannot be kept is nothing to warn of: nobody relies on it (S50). */
  isSet(option: keyof DriverSettings): boolean;
  /** A variable of the caller, else of the profile's .env: for those that are to be forwarded by name. */
  variable(name: string): string | undefined;
  /** For what a driver ends by itself, with nobody having asked for it. */
  readonly audit: Audit;
  /** Installs in which this process has looked for orphans: it does so once, however many drivers, profiles and tasks it has (S28). */
  readonly swept: Set<string>;
  readonly clock: Clock;
  readonly log: Logger;
}

export type DriverFactory = (context: DriverContext) => SandboxDriver;
