/** @module Reads or changes what a profile says about itself. */
import * as z from "zod/mini";
import { readDescription, writeDescription } from "../../profiles/description.ts";
import { defineOperation } from "../operation.ts";

export const profileDescribe = defineOperation({
  name: "profile.describe",
  summary: "Read or change the description of a profile",
  /** Without `description` it is only read; null takes it away. */
  input: z.strictObject({ name: z.string(), description: z.optional(z.nullable(z.string())) }),
  output: z.object({ name: z.string(), description: z.nullable(z.string()) }),
  async run(app, { name: input, description }) {
    const { name, home } = await app.profiles.find(input);
    return { name, description: description === undefined ? readDescription(home) : await writeDescription(home, description) };
  },
});
