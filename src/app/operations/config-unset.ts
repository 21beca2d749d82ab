/** @module Takes a key out of the profile's config.yaml. */
import * as z from "zod/mini";
import { unsetValue } from "../../config/edit.ts";
import { defineOperation } from "../operation.ts";

export const configUnset = defineOperation({
  name: "config.unset",
  summary: "Take a key out of the profile's config.yaml, so that the next source counts",
  input: z.strictObject({ key: z.string() }),
  output: z.object({ key: z.string(), file: z.string(), changed: z.boolean() }),
  async run(app, { key }) {
    return { key, ...(await unsetValue(app.profile.home, key, { clock: app.clock })) };
  },
});
