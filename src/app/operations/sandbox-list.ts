/** @module Lists what exists. */
import * as z from "zod/mini";
import { describeError } from "../../base/errors.ts";
import { DEFAULT_TASK } from "../../base/names.ts";
import type { SandboxRef } from "../../sandbox/driver.ts";
import { DRIVERS } from "../../sandbox/registry.gen.ts";
import type { App } from "../create-app.ts";
import { whyKept } from "../keeping.ts";
import { defineOperation } from "../operation.ts";
import type { ListedSandbox } from "../results.ts";
import { SandboxSummaryShape, summarize } from "../schemas.ts";
import { listTaskSettings } from "../task-settings.ts";

export const sandboxList = defineOperation({
  name: "sandbox.list",
  summary: "List the sandboxes of the profile, or of all profiles, and why each is kept",
  input: z.strictObject({ all: z._default(z.boolean(), false) }),
  output: z.readonly(z.array(z.extend(SandboxSummaryShape, { why: z.string() }))),
  async run(app, { all }) {
    const apps = all ? await appsOfProfiles(app) : [app];
    const everywhere = all ? (await Promise.all(apps.map(onEachBackend))).flat() : apps;
    const listed = (await Promise.all(everywhere.map(listOf))).flat();
    // What a task has on a backend of its own is there with that backend, too.
    return [...new Map(listed.map((sandbox) => [`${sandbox.backend} ${sandbox.id}`, sandbox])).values()];
  },
});

/** One app for each profile. */
export async function appsOfProfiles(app: App): Promise<App[]> {
  const profiles = await app.profiles.list();
  return Promise.all(profiles.map(({ name }) => app.forProfile(name)));
}

/** The app as it is, and as it would be with each other backend that people use and that answers. */
async function onEachBackend(app: App): Promise<App[]> {
  const configured = (await app.driver()).name;
  const others = (Object.keys(DRIVERS) as (keyof typeof DRIVERS)[]).filter((name) => name !== configured);
  const apps = await Promise.all(
    others.map(async (name) => {
      const { capabilities, check } = await app.driverNamed(name);
      return capabilities.testOnly || (await check()).status !== "ready" ? [] : [await app.onBackend(name)];
    }),
  );
  return [app, ...apps.flat()];
}

/** Those of the configured backend, and of others that tasks have chosen for themselves. Each with the app it belongs to. */
export async function sandboxesOf(app: App): Promise<{ app: App; ref: SandboxRef }[]> {
  const [driver, { install, profile }] = await Promise.all([app.driver(), app.owner(DEFAULT_TASK)]);
  const found = (await driver.list({ install, profile })).map((ref) => ({ app, ref }));
  const others = await Promise.all(
    listTaskSettings(app.profile.home, app).map(async ({ task }) => {
      const own = await app.forTask(task);
      const theirs = await own.driver();
      if (theirs.name === driver.name) return [];
      // One backend that does not answer must not hide what the others have.
      const refs = await theirs.list(await own.owner(task)).catch((error: unknown) => {
        app.log.warn(`what task ${task} has on the ${theirs.name} backend is left out: ${describeError(error)}`, { task });
        return [];
      });
      return refs.map((ref) => ({ app: own, ref }));
    }),
  );
  return [...found, ...others.flat()];
}

async function listOf(app: App): Promise<ListedSandbox[]> {
  const found = await sandboxesOf(app);
  const listed = await Promise.all(
    found.map(async ({ app: own, ref }) => {
      const { isolatesFiles } = (await own.driver()).capabilities;
      const summary = summarize(ref);
      return { ...summary, why: whyKept(summary, { rules: (await own.config()).values.terminal, isolatesFiles }) };
    }),
  );
  return listed.sort((a, b) => (a.task < b.task ? -1 : 1));
}
