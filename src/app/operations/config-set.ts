/** @module Changes a key in the profile's config.yaml. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { DEFAULT_PROFILE } from "../../base/names.ts";
import { setValue } from "../../config/edit.ts";
import { describeSource } from "../../config/source.ts";
import { capWarning } from "../../dispatcher/settings.ts";
import { type App, noEffectIn } from "../create-app.ts";
import { defineOperation } from "../operation.ts";

export const configSet = defineOperation({
  name: "config.set",
  summary: "Set a key in the profile's config.yaml, keeping everything else in it",
  input: z.strictObject({ key: z.string(), value: z.unknown() }),
  output: z.object({
    key: z.string(),
    file: z.string(),
    changed: z.boolean(),
    /** What decides instead of the file: a variable, a flag or `.env`. */
    hiddenBy: z.nullable(z.string()),
    /** What works, but hardly as it was meant. */
    warnings: z.array(z.string()),
  }),
  async run(app, { key, value }) {
    const result = await setValue(app.profile.home, key, value, { clock: app.clock });
    return { key, ...result, hiddenBy: await hiddenBy(app, key), warnings: warningsOf(app, key, value) };
  },
});

function warningsOf({ profile }: App, key: string, value: unknown): string[] {
  if (!key.startsWith("kanban.")) return [];
  const warning = capWarning(key.slice("kanban.".length), value);
  return [...(profile.name === DEFAULT_PROFILE ? [] : [noEffectIn(profile.name, key)]), ...(warning === null ? [] : [warning])];
}

async function hiddenBy(app: App, key: string): Promise<string | null> {
  try {
    const { source } = (await app.config()).explain(key);
    return source.kind === "file" ? null : describeSource(source);
  } catch (error) {
    // Something else is wrong with the configuration. Setting values is how that is put right, so it is not told here.
    if (HoldfastError.isInstance(error)) return null;
    throw error;
  }
}
