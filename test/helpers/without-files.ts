/** @module A driver whose connections have no fast path for files, as those of a container engine: everything goes through programs. */
import type { SandboxDriver } from "../../src/sandbox/driver.ts";

export function withoutFiles(driver: SandboxDriver): SandboxDriver {
  return {
    ...driver,
    async connect(...request) {
      const { files: _, ...connection } = await driver.connect(...request);
      return connection;
    },
  };
}
