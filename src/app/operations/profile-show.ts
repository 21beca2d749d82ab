/** @module Shows one profile. */
import * as z from "zod/mini";
import { envFileWarning } from "../../config/env-file.ts";
import { configFiles } from "../../config/load.ts";
import { defineOperation } from "../operation.ts";
import { descriptionOf } from "./profile-list.ts";
import { sandboxList } from "./sandbox-list.ts";

export const profileShow = defineOperation({
  name: "profile.show",
  summary: "Show a profile: its home, what is configured in it, its sandboxes",
  input: z.strictObject({ name: z.optional(z.string()) }),
  output: z.object({
    name: z.string(),
    home: z.string(),
    description: z.nullable(z.string()),
    active: z.boolean(),
    /** How the active profile was chosen: flag, variable, use or default. */
    chosenBy: z.nullable(z.string()),
    configFile: z.string(),
    envFile: z.string(),
    /** Keys whose value is not the default. */
    configured: z.array(z.string()),
    sandboxes: z.array(z.string()),
    /** What should be put right, although it works. */
    warnings: z.array(z.string()),
  }),
  async run(app, { name }) {
    const profile = name === undefined ? app.profile : await app.profiles.find(name);
    const active = profile.name === app.profile.name;
    const shown = active ? app : await app.forProfile(profile.name);
    const files = configFiles(profile.home);
    const entries = (await shown.config()).entries();
    const sandboxes = await sandboxList.run(shown, { all: false });
    return {
      name: profile.name,
      home: profile.home,
      description: descriptionOf(profile.home, app),
      active,
      chosenBy: active ? app.profile.chosenBy : null,
      configFile: files.config,
      envFile: files.env,
      configured: entries.filter((entry) => entry.source.kind !== "default").map((entry) => entry.key.key),
      sandboxes: sandboxes.map((sandbox) => sandbox.task),
      warnings: [envFileWarning(profile.home) ?? []].flat(),
    };
  },
});
