/** @module Which sandboxes exist: those of one profile, or of all, also when not every profile or backend can be asked. */
import { join } from "node:path";
import { describeError, HoldfastError } from "../base/errors.ts";
import { listDirectory } from "../base/list-directory.ts";
import { DEFAULT_TASK } from "../base/names.ts";
import type { SandboxRef } from "../sandbox/driver.ts";
import { profileDirectory } from "../sandbox/drivers/shared/refs.ts";
import { DRIVERS } from "../sandbox/registry.gen.ts";
import { type App, sandboxDir } from "./create-app.ts";
import { whyKept } from "./keeping.ts";
import type { ListedSandbox, UnlistedSandboxes } from "./results.ts";
import { summarize } from "./schemas.ts";
import { listTaskSettings } from "./task-settings.ts";

/** Hears of a backend that a task has chosen for itself and that does not answer. */
type OnUnlisted = (found: { task: string; backend: string; error: unknown }) => void;

interface Everywhere {
  readonly sandboxes: readonly ListedSandbox[];
  readonly unlisted: readonly (UnlistedSandboxes & { readonly error: unknown })[];
}

/** One app for each profile. */
export async function appsOfProfiles(app: App): Promise<App[]> {
  const profiles = await app.profiles.list();
  return Promise.all(profiles.map(({ name }) => app.forProfile(name)));
}

/** Those of the configured backend, and of others that tasks have chosen for themselves. Each with the app it belongs to. */
export async function sandboxesOf(app: App, onUnlisted: OnUnlisted = warnOf(app)): Promise<{ app: App; ref: SandboxRef }[]> {
  const [driver, { install, profile }] = await Promise.all([app.driver(), app.owner(DEFAULT_TASK)]);
  const found = (await driver.list({ install, profile })).map((ref) => ({ app, ref }));
  const others = await Promise.all(
    listTaskSettings(app.profile.home, app).map(async ({ task }) => {
      const own = await app.forTask(task);
      const theirs = await own.driver();
      if (theirs.name === driver.name) return [];
      // One backend that does not answer must not hide what the others have.
      const refs = await theirs.list(await own.owner(task)).catch((error: unknown) => {
        onUnlisted({ task, backend: theirs.name, error });
        return [];
      });
      return refs.map((ref) => ({ app: own, ref }));
    }),
  );
  return [...found, ...others.flat()];
}

export async function listSandboxes(app: App, onUnlisted?: OnUnlisted): Promise<ListedSandbox[]> {
  const found = await sandboxesOf(app, onUnlisted);
  const listed = await Promise.all(
    found.map(async ({ app: own, ref }) => {
      const { isolatesFiles } = (await own.driver()).capabilities;
      const summary = summarize(ref);
      return { ...summary, why: whyKept(summary, { rules: (await own.config()).values.terminal, isolatesFiles }) };
    }),
  );
  return listed.sort((a, b) => (a.task < b.task ? -1 : 1));
}

/** Those of all profiles, on all backends that people use. What cannot be asked does not hide the rest. */
export async function listEverywhere(app: App): Promise<Everywhere> {
  const profiles = await app.profiles.list();
  const parts = await Promise.all(profiles.map(({ name }) => listProfile(app, name)));
  const sandboxes = parts.flatMap((part) => part.sandboxes);
  const unlisted = parts.flatMap((part) => part.unlisted);
  return {
    // What a task has on a backend of its own is there with that backend, too.
    sandboxes: [...new Map(sandboxes.map((sandbox) => [`${sandbox.backend} ${sandbox.id}`, sandbox])).values()],
    // For the same reason, a backend that does not answer is met once for each of the others.
    unlisted: [...new Map(unlisted.map((each) => [`${each.profile} ${each.backend}`, each])).values()],
  };
}

async function listProfile(app: App, profile: string): Promise<Everywhere> {
  const unlisted: Everywhere["unlisted"][number][] = [];
  const miss = (backend: string | null, error: unknown) => {
    // Anything else is a mistake of ours, which must not look like a profile that cannot be asked.
    if (!HoldfastError.isInstance(error)) throw error;
    unlisted.push({ profile, backend, reason: describeError(error), error });
  };
  const sandboxes: ListedSandbox[] = [];
  try {
    const own = await app.forProfile(profile);
    for (const there of await onEachBackend(own, miss)) {
      const { name } = await there.driver();
      try {
        sandboxes.push(...(await listSandboxes(there, ({ backend, error }) => miss(backend, error))));
      } catch (error) {
        miss(name, error);
      }
    }
  } catch (error) {
    miss(null, error);
  }
  return { sandboxes, unlisted };
}

/** The app as it is, and as it would be with each other backend that people use and that answers. */
async function onEachBackend(app: App, miss: (backend: string, error: HoldfastError) => void): Promise<App[]> {
  const configured = (await app.driver()).name;
  const others = (Object.keys(DRIVERS) as (keyof typeof DRIVERS)[]).filter((name) => name !== configured);
  const apps = await Promise.all(
    others.map(async (name) => {
      const { capabilities, check } = await app.driverNamed(name);
      if (capabilities.testOnly) return [];
      const checked = await check();
      if (checked.status === "ready") return [await app.onBackend(name)];
      // Where the profile has nothing, nobody misses anything.
      if (await keepsSomething(app, name)) miss(name, new HoldfastError("backend-broken", checked.reason));
      return [];
    }),
  );
  return [app, ...apps.flat()];
}

async function keepsSomething(app: App, backend: string): Promise<boolean> {
  const place = sandboxDir(app.profile, (await app.config()).values.terminal.sandbox_dir);
  return listDirectory(profileDirectory(join(place, backend), await app.owner(DEFAULT_TASK))).length > 0;
}

function warnOf({ log }: App): OnUnlisted {
  return ({ task, backend, error }) =>
    log.warn(`what task ${task} has on the ${backend} backend is left out: ${describeError(error)}`, { task });
}
