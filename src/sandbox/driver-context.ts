/** @module What a driver is given when it is made. Drivers read nothing else from the outside: no variables, no clock, no configuration. */
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { SandboxDriver } from "./driver.ts";

export interface DriverContext {
  /** Where the profile's sandboxes keep their files on the host; each driver uses the folder with its own name in it. */
  readonly sandboxDir: string;
  /** What commands on the host itself may inherit: the caller's variables without credentials. */
  readonly hostEnv: Readonly<Record<string, string>>;
  /** The holdfastd to run in sandboxes; null: without one. */
  readonly daemonProgram: string | null;
  readonly clock: Clock;
  readonly log: Logger;
}

export type DriverFactory = (context: DriverContext) => SandboxDriver;
