/** @module Lists what exists. */
import * as z from "zod/mini";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import type { SandboxSummary } from "../results.ts";
import { SandboxSummaryShape, summarize } from "../schemas.ts";

export const sandboxList = defineOperation({
  name: "sandbox.list",
  summary: "List the sandboxes of the profile, or of all profiles",
  input: z.strictObject({ all: z._default(z.boolean(), false) }),
  output: z.readonly(z.array(SandboxSummaryShape)),
  async run(app, { all }) {
    if (!all) return listOf(app);
    const profiles = await app.profiles.list();
    const lists = await Promise.all(profiles.map(async ({ name }) => listOf(await app.forProfile(name))));
    return lists.flat();
  },
});

async function listOf(app: App): Promise<SandboxSummary[]> {
  const [driver, { install, profile }] = await Promise.all([app.driver(), app.owner("default")]);
  const refs = await driver.list({ install, profile });
  return refs.map(summarize).sort((a, b) => (a.task < b.task ? -1 : 1));
}
