/** @module Lists every configuration key. */
import * as z from "zod/mini";
import { ConfigEntryShape, configEntry } from "../config-entry.ts";
import { defineOperation } from "../operation.ts";

export const configList = defineOperation({
  name: "config.list",
  summary: "List every key with its value and where that comes from",
  input: z.strictObject({ changed: z._default(z.boolean(), false) }),
  output: z.readonly(z.array(ConfigEntryShape)),
  async run(app, { changed }) {
    const entries = (await app.config()).entries();
    return entries.filter((entry) => !changed || entry.source.kind !== "default").map(configEntry);
  },
});
