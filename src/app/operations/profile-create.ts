/** @module Makes a profile. */
import * as z from "zod/mini";
import { parseProfileName } from "../../base/names.ts";
import { defineOperation } from "../operation.ts";
import { portableProfile } from "../portable-profile.ts";
import { LeftOutShape } from "../schemas.ts";

export const profileCreate = defineOperation({
  name: "profile.create",
  summary: "Make a profile, empty or with the settings, description and skills of another one, but no secrets",
  input: z.strictObject({ name: z.string(), cloneFrom: z.optional(z.string()) }),
  /** `leftOut`: what of the other one did not come along, and why. */
  output: z.object({ name: z.string(), home: z.string(), leftOut: z.readonly(z.array(LeftOutShape)) }),
  async run(app, { name, cloneFrom }) {
    parseProfileName(name);
    const { files, leftOut } = cloneFrom === undefined ? NOTHING : await portableProfile(await app.profiles.find(cloneFrom));
    const made = await app.profiles.create(name, { files });
    return { name: made.name, home: made.home, leftOut };
  },
});

const NOTHING = { files: [], leftOut: [] };
