/** @module Says where the profile's configuration files are. */
import * as z from "zod/mini";
import { configFiles } from "../../config/load.ts";
import { defineOperation } from "../operation.ts";

export const configPath = defineOperation({
  name: "config.path",
  summary: "Print the path of the profile's config.yaml and .env",
  input: z.strictObject({}),
  output: z.object({ config: z.string(), env: z.string() }),
  // Does not load the configuration: the path is most wanted when the file is broken.
  run: async (app) => ({ ...configFiles(app.profile.home) }),
});
