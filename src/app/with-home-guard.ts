/** @module Refuses to make a sandbox that would see the whole home directory (S8). One that is there is what it is, wherever it is called from. */
import { homedir } from "node:os";
import type { SandboxDriver } from "../sandbox/driver.ts";
import { guardHome } from "../sandbox/drivers/docker/mounts.ts";
import type { SandboxSpec } from "../sandbox/spec.ts";
import { realPath } from "./real-path.ts";

export interface HomeGuardOptions {
  /** The home of all profiles. */
  readonly root: string;
  readonly allowed: boolean;
}

export function withHomeGuard(driver: SandboxDriver, { root, allowed }: HomeGuardOptions): SandboxDriver {
  const guard = ({ mounts }: SandboxSpec) => {
    const homes = { realHome: realPath(homedir()), holdfastHome: realPath(root), allowed };
    for (const { source } of mounts) if (source.startsWith("/")) guardHome(realPath(source), homes);
  };
  return {
    ...driver,
    // Before anything else is done for it: an image takes its time, and an older sandbox would have made way.
    async prepare(owner, spec, options) {
      guard(spec);
      await driver.prepare?.(owner, spec, options);
    },
    async create(owner, spec, options) {
      guard(spec);
      return driver.create(owner, spec, options);
    },
  };
}
