/** @module Gives a profile another name, and its sandboxes with it as far as they can follow. */
import * as z from "zod/mini";
import { describeError, HoldfastError } from "../../base/errors.ts";
import type { SandboxRef } from "../../sandbox/driver.ts";
import { refuseIfBusy } from "../busy.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import { changingProfiles, profileHooks } from "../profile-hooks.ts";
import {
  type OwnedSandbox,
  type ProfileSandboxes,
  profileSandboxes,
  refuseUnreachable,
  removeProfileSandboxes,
} from "../profile-sandboxes.ts";
import { settingsNaming } from "../settings-naming.ts";

export const profileRename = defineOperation({
  name: "profile.rename",
  summary: "Give a profile another name; sandboxes that are only files follow, others have to be removed first",
  input: z.strictObject({ from: z.string(), to: z.string(), removeSandboxes: z._default(z.boolean(), false) }),
  output: z.object({
    from: z.string(),
    name: z.string(),
    home: z.string(),
    /** The tasks whose sandboxes came along. */
    followed: z.array(z.string()),
    /** The tasks whose sandboxes were removed. */
    removed: z.array(z.string()),
    /** It is the choice of `profile use`, which followed. */
    sticky: z.boolean(),
    /** How many tasks of the board were handed over to the new name. */
    reassigned: z.int(),
    /** The keys of the configuration that still say the old name. */
    stillNamed: z.array(z.string()),
  }),
  async run(app, { from: input, to: wanted, removeSandboxes }) {
    await app.profiles.checkRename(input, wanted);
    return changingProfiles(app, async () => {
      const { from, to } = await app.profiles.checkRename(input, wanted);
      const hooks = await profileHooks(app);
      const running = (await hooks.running?.(from.name)) ?? [];
      if (running.length > 0) throw inUse(from.name, `${running.join(", ")} works under it`, "wait for it, or end it first");
      // What lives of them is found by paths that are about to change.
      if ((await hooks.endLeft?.(from.name)) === false)
        throw inUse(from.name, "a worker of it is still ending", "try again in half a minute");
      await using found = await profileSandboxes(app, from.name);
      refuseUnreachable(from.name, found, "start it and try again, or delete the profile and make a new one");
      if (!removeSandboxes) await refuseWhatCannotFollow(from.name, found);
      const removed = removeSandboxes ? await removeProfileSandboxes(found) : [];
      const sandboxes = removeSandboxes ? [] : found.sandboxes;
      const stillNamed = await settingsNaming(app, from.name);
      const { profile, sticky } = await renameWith(app, { from: from.name, to, sandboxes });
      const reassigned = (await hooks.renameAssignee?.(from.name, to)) ?? 0;
      const followed = sandboxes.map(({ ref }) => ref.owner.task).sort();
      return { from: from.name, name: profile.name, home: profile.home, followed, removed, sticky, reassigned, stillNamed };
    });
  },
});

const REMOVE_HINT =
  "remove them first with `holdfast sandbox rm TASK`, or repeat the command with --remove-sandboxes, which ends and removes them";

async function refuseWhatCannotFollow(name: string, { sandboxes, leftovers, inHome }: ProfileSandboxes): Promise<void> {
  for (const { app, ref } of sandboxes) {
    const follows = inHome && (await app.driver()).handOver !== undefined;
    if (!follows) throw inUse(name, `its sandbox for task ${ref.owner.task} on the ${ref.driver} backend cannot follow`, REMOVE_HINT);
  }
  const [left] = leftovers;
  if (left)
    throw inUse(
      name,
      `${left.what}, which an earlier sandbox has left, cannot follow`,
      `\`holdfast sandbox prune --files -p ${name}\` removes it; so does --remove-sandboxes`,
    );
  for (const { app, ref } of sandboxes)
    await refuseIfBusy(app, ref).catch((error: unknown) => {
      if (!HoldfastError.isInstance(error) || error.code !== "busy") throw error;
      throw inUse(name, error.message, "wait for it or end it; --remove-sandboxes ends it and removes the sandbox");
    });
}

interface RenameRequest {
  readonly from: string;
  readonly to: string;
  readonly sandboxes: readonly OwnedSandbox[];
}

/** Sandboxes first, while their paths are known; if that or the rename itself fails, all of them are handed back. */
async function renameWith(app: App, { from, to, sandboxes }: RenameRequest): ReturnType<App["profiles"]["rename"]> {
  const moved: { app: App; ref: SandboxRef }[] = [];
  try {
    for (const { app: own, ref } of sandboxes) moved.push({ app: own, ref: await handOver(own, ref, to) });
    return await app.profiles.rename(from, to);
  } catch (error) {
    for (const { app: own, ref } of moved) {
      await handOver(own, ref, from).catch((failure: unknown) => {
        app.log.error(`the sandbox of task ${ref.owner.task} is lost to profile ${from}: ${describeError(failure)}`, { sandbox: ref.id });
      });
    }
    throw error;
  }
}

async function handOver(app: App, ref: SandboxRef, profile: string): Promise<SandboxRef> {
  const driver = await app.driver();
  if (driver.handOver) return driver.handOver(ref, profile);
  throw new HoldfastError("internal", `a sandbox of the ${driver.name} backend cannot be handed over`);
}

function inUse(profile: string, reason: string, hint: string): HoldfastError {
  return new HoldfastError("profile-in-use", `profile ${profile} was not renamed: ${reason}`, { hint, facts: { profile, reason } });
}
