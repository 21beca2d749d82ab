/** @module Lists the profiles. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { readDescription } from "../../profiles/description.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";

export const profileList = defineOperation({
  name: "profile.list",
  summary: "List the profiles and show which one counts",
  input: z.strictObject({}),
  output: z.array(z.object({ name: z.string(), home: z.string(), active: z.boolean(), description: z.nullable(z.string()) })),
  async run(app) {
    const profiles = await app.profiles.list();
    return profiles.map(({ name, home }) => ({ name, home, active: name === app.profile.name, description: descriptionOf(home, app) }));
  },
});

/** One that cannot be read is told and left out: it must not hide the profiles. */
export function descriptionOf(home: string, { log }: Pick<App, "log">): string | null {
  try {
    return readDescription(home);
  } catch (error) {
    if (!HoldfastError.isInstance(error)) throw error;
    log.warn(`${error.message}; ${error.hint}`, error.facts);
    return null;
  }
}
