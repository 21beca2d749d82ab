/** @module Everything that a profile has on any backend, for whoever wants to rename or delete it. */
import { join } from "node:path";
import { HoldfastError } from "../base/errors.ts";
import { listDirectory } from "../base/list-directory.ts";
import { DEFAULT_TASK } from "../base/names.ts";
import type { Leftover, SandboxRef } from "../sandbox/driver.ts";
import { profileDirectory } from "../sandbox/drivers/shared/refs.ts";
import { DRIVERS } from "../sandbox/registry.gen.ts";
import { type App, sandboxDir } from "./create-app.ts";
import { leftoversOf } from "./leftovers.ts";
import { forgetTaskSettings } from "./task-settings.ts";

export interface OwnedSandbox {
  /** With the backend of the sandbox configured. */
  readonly app: App;
  readonly ref: SandboxRef;
}

export interface ProfileSandboxes extends AsyncDisposable {
  readonly sandboxes: readonly OwnedSandbox[];
  /** What sandboxes that are gone have left. */
  readonly leftovers: readonly Leftover[];
  /** Backends on which it has something, but which do not answer now, each with the reason. */
  readonly unreachable: readonly { readonly backend: string; readonly reason: string }[];
  /** Where they are kept is part of the profile's home. */
  readonly inHome: boolean;
}

type Backend = keyof typeof DRIVERS;

/** @throws what is wrong with the profile's configuration, which says where its sandboxes are */
export async function profileSandboxes(app: App, name: string): Promise<ProfileSandboxes> {
  const own = await app.forProfile(name);
  const apps: App[] = [own];
  const { backend: configured, sandbox_dir: directory } = (await own.config()).values.terminal;
  const of = await own.owner(DEFAULT_TASK);
  const place = sandboxDir(own.profile, directory);
  const unreachable: { backend: string; reason: string }[] = [];
  const found: Pick<ProfileSandboxes, "sandboxes" | "leftovers">[] = [];
  for (const backend of Object.keys(DRIVERS) as Backend[]) {
    const driver = await own.driverNamed(backend);
    // It has nothing that another process could find.
    if (!driver.capabilities.persistsAcrossProcesses) continue;
    const checked = await driver.check();
    if (checked.status !== "ready") {
      const kept = listDirectory(profileDirectory(join(place, backend), of));
      if (kept.length > 0) unreachable.push({ backend, reason: checked.reason });
      continue;
    }
    const there = backend === configured ? own : await own.onBackend(backend);
    if (there !== own) apps.push(there);
    found.push(await on(there));
  }
  return {
    sandboxes: found.flatMap(({ sandboxes }) => sandboxes),
    leftovers: found.flatMap(({ leftovers }) => leftovers),
    unreachable,
    inHome: directory === null,
    async [Symbol.asyncDispose]() {
      await Promise.all(apps.map((each) => each.close()));
    },
  };
}

/** Ends all that runs in them, and removes them with everything they own. Returns the tasks whose sandboxes went. */
export async function removeProfileSandboxes({
  sandboxes,
  leftovers,
}: Pick<ProfileSandboxes, "sandboxes" | "leftovers">): Promise<string[]> {
  for (const { app, ref } of sandboxes) {
    await (await app.lifecycle()).releaseTask(ref.owner, { forceRemove: true, purge: true });
    await forgetTaskSettings(app.profile.home, ref.owner.task);
  }
  for (const { remove } of leftovers) await remove();
  return [...new Set(sandboxes.map(({ ref }) => ref.owner.task))].sort();
}

/** @throws `profile-in-use` */
export function refuseUnreachable(name: string, { unreachable }: Pick<ProfileSandboxes, "unreachable">, hint: string): void {
  const [first] = unreachable;
  if (first === undefined) return;
  const message = `profile ${name} has sandboxes on the ${first.backend} backend, which does not answer: ${first.reason}`;
  throw new HoldfastError("profile-in-use", message, { hint, facts: { profile: name, unreachable } });
}

async function on(app: App): Promise<Pick<ProfileSandboxes, "sandboxes" | "leftovers">> {
  const { install, profile } = await app.owner(DEFAULT_TASK);
  const refs = await (await app.driver()).list({ install, profile });
  return { sandboxes: refs.map((ref) => ({ app, ref })), leftovers: await leftoversOf(app, { install, profile }, "asked for") };
}
