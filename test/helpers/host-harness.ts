/** @module What the contract suite needs of a driver whose sandboxes are on this host: each with a home and a temporary directory of its own. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { DriverFactory } from "../../src/sandbox/driver-context.ts";
import type { CreateHarness } from "../contract/sandbox-driver/harness.ts";
import { driverContext } from "./driver-context.ts";

export function hostHarness(createDriver: DriverFactory, { daemonProgram = null }: { daemonProgram?: string | null } = {}): CreateHarness {
  return async (directory) => {
    const home = join(directory, "home");
    const temporary = join(directory, "tmp");
    await Promise.all([home, temporary].map((path) => mkdir(path)));
    const hostEnv = { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: home, TMPDIR: temporary, LANG: "C.UTF-8" };
    const create = () => createDriver(driverContext({ sandboxDir: join(directory, "sandboxes"), hostEnv, daemonProgram }));
    return { driver: create(), another: create, cleanup: async () => {} };
  };
}
