/** @module Says where a configuration value comes from. */
import * as z from "zod/mini";
import { ConfigEntryShape, configEntry } from "../config-entry.ts";
import { defineOperation } from "../operation.ts";

export const configExplain = defineOperation({
  name: "config.explain",
  summary: "Show where the value of a key comes from and what it hides",
  input: z.strictObject({ key: z.string() }),
  output: ConfigEntryShape,
  async run(app, { key }) {
    return configEntry((await app.config()).explain(key));
  },
});
