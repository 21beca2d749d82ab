/** @module A decorator that asks whether the backend works before it makes a sandbox, so that the error names the real cause. */
import { HoldfastError } from "../base/errors.ts";
import type { SandboxDriver } from "./driver.ts";

export function withCheck(driver: SandboxDriver): SandboxDriver {
  return {
    ...driver,
    async create(owner, spec, options) {
      const availability = await driver.check(options);
      if (availability.status === "not-applicable") {
        throw new HoldfastError("backend-not-applicable", `the ${driver.name} backend cannot run here: ${availability.reason}`, {
          facts: { backend: driver.name },
        });
      }
      if (availability.status === "broken") {
        throw new HoldfastError("backend-broken", `the ${driver.name} backend does not work: ${availability.reason}`, {
          hint: availability.fix,
          facts: { backend: driver.name },
        });
      }
      return driver.create(owner, spec, options);
    },
  };
}
