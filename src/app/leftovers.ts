/** @module What sandboxes that are gone have left behind, to be removed with a line in the audit log (S31). */
import type { Leftover, Owner } from "../sandbox/driver.ts";
import type { App } from "./create-app.ts";

/** Of the profile, or of one task in it. `reason`: who wants it gone. */
export async function leftoversOf(app: App, of: Omit<Owner, "task"> & Partial<Owner>, reason: string): Promise<Leftover[]> {
  const driver = await app.driver();
  const all = (await driver.leftovers?.(of)) ?? [];
  return all.map((leftover) => ({
    ...leftover,
    async remove() {
      await leftover.remove();
      const { what, why } = leftover;
      const { profile, task = "" } = of;
      app.audit({ what: "cleared", sandbox: what, backend: driver.name, profile, task, reason: `${reason}: ${why}` });
    },
  }));
}
