/** @module Chooses the profile that counts from now on. */
import * as z from "zod/mini";
import { defineOperation } from "../operation.ts";

export const profileUse = defineOperation({
  name: "profile.use",
  summary: "Choose the profile that counts when neither --profile nor HOLDFAST_PROFILE is given",
  input: z.strictObject({ name: z.string() }),
  output: z.object({ name: z.string(), home: z.string() }),
  async run(app, { name }) {
    const chosen = await app.profiles.use(name);
    return { name: chosen.name, home: chosen.home };
  },
});
