/** @module Takes over the settings of a Hermes home (S48). */
import { homedir } from "node:os";
import { join } from "node:path";
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { setValue } from "../../config/edit.ts";
import { readHermesHome } from "../../config/hermes-home.ts";
import { configFiles } from "../../config/load.ts";
import { fromCaller } from "../caller-directory.ts";
import { defineOperation } from "../operation.ts";

export const configImportHermes = defineOperation({
  name: "config.import-hermes",
  summary: "Take over the settings of a Hermes home, as far as they have a meaning here; what is set already stays",
  input: z.strictObject({ directory: z.optional(z.string()) }),
  output: z.object({
    directory: z.string(),
    /** Where they are written to. */
    file: z.string(),
    taken: z.array(z.object({ key: z.string(), source: z.string() })),
    /** What was not taken, and why, in words. */
    left: z.array(z.string()),
  }),
  async run(app, { directory: given }) {
    const directory = fromCaller(app, given ?? hermesHome(app.environment));
    const { settings, left: notOurs, others, found } = await readHermesHome(directory);
    if (!found)
      throw new HoldfastError("invalid-input", `there is no config.yaml and no .env in ${directory}`, {
        hint: "name the directory of Hermes: `holdfast config import-hermes DIR`",
        facts: { directory },
      });
    const own = await readHermesHome(app.profile.home);
    const set = new Map(own.settings.map(({ key, source }) => [key, source]));
    const taken: { key: string; source: string }[] = [];
    const left: string[] = [];
    for (const { key, value, source } of settings) {
      const before = set.get(key);
      if (before !== undefined) {
        left.push(`${key} is set here already (${before}), so that of ${source} was not taken`);
        continue;
      }
      await setValue(app.profile.home, key, value, { clock: app.clock });
      taken.push({ key, source });
    }
    const names =
      others.length === 0 ? [] : [`${others.join(", ")}: no settings, so copy what you need into ${configFiles(app.profile.home).env}`];
    return { directory, file: configFiles(app.profile.home).config, taken, left: [...left, ...notOurs, ...names] };
  },
});

function hermesHome({ HERMES_HOME, HOME }: { readonly HERMES_HOME?: string | undefined; readonly HOME?: string | undefined }): string {
  return HERMES_HOME || join(HOME || homedir(), ".hermes");
}
