/** @module Gives the value of a configuration key. */
import * as z from "zod/mini";
import { defineOperation } from "../operation.ts";

export const configGet = defineOperation({
  name: "config.get",
  summary: "Print the value of a key that counts now",
  input: z.strictObject({ key: z.string() }),
  output: z.object({ key: z.string(), value: z.unknown() }),
  async run(app, { key }) {
    const found = (await app.config()).explain(key);
    return { key: found.key.key, value: found.value };
  },
});
