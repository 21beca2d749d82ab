/** @module Lists the profiles. */
import * as z from "zod/mini";
import { defineOperation } from "../operation.ts";

export const profileList = defineOperation({
  name: "profile.list",
  summary: "List the profiles and show which one counts",
  input: z.strictObject({}),
  output: z.array(z.object({ name: z.string(), home: z.string(), active: z.boolean() })),
  async run(app) {
    const profiles = await app.profiles.list();
    return profiles.map(({ name, home }) => ({ name, home, active: name === app.profile.name }));
  },
});
