/** @module Makes a profile. */
import * as z from "zod/mini";
import { defineOperation } from "../operation.ts";

export const profileCreate = defineOperation({
  name: "profile.create",
  summary: "Make a profile, empty or with the settings of another one",
  input: z.strictObject({ name: z.string(), cloneFrom: z.optional(z.string()) }),
  output: z.object({ name: z.string(), home: z.string() }),
  async run(app, { name, cloneFrom }) {
    const made = await app.profiles.create(name, { cloneFrom });
    return { name: made.name, home: made.home };
  },
});
