/** @module Changes a key in the profile's config.yaml. */
import * as z from "zod/mini";
import { setValue } from "../../config/edit.ts";
import { defineOperation } from "../operation.ts";

export const configSet = defineOperation({
  name: "config.set",
  summary: "Set a key in the profile's config.yaml, keeping everything else in it",
  input: z.strictObject({ key: z.string(), value: z.unknown() }),
  output: z.object({ key: z.string(), file: z.string(), changed: z.boolean() }),
  async run(app, { key, value }) {
    return { key, ...(await setValue(app.profile.home, key, value, { clock: app.clock })) };
  },
});
