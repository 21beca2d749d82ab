/** @module Deletes a profile with all that it has. */
import * as z from "zod/mini";
import { describeError, HoldfastError } from "../../base/errors.ts";
import { whileDeleting } from "../../profiles/deleting.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import { changingProfiles, profileHooks } from "../profile-hooks.ts";
import { type ProfileSandboxes, profileSandboxes, refuseUnreachable, removeProfileSandboxes } from "../profile-sandboxes.ts";

export const profileDelete = defineOperation({
  name: "profile.delete",
  summary: "End all that runs under a profile, remove its sandboxes, then its home",
  input: z.strictObject({
    name: z.string(),
    /** Also when it cannot be known, or a backend does not answer, what sandboxes it has: those are left. */
    force: z._default(z.boolean(), false),
  }),
  output: z.object({
    name: z.string(),
    home: z.string(),
    /** The tasks that were worked on under it; that was ended, and they are free again. */
    ended: z.array(z.string()),
    /** The tasks whose sandboxes were removed. */
    sandboxes: z.array(z.string()),
    /** What was left, and why. */
    left: z.array(z.string()),
    /** It was the choice of `profile use`; now `default` counts. */
    wasSticky: z.boolean(),
    /** Unfinished tasks that are still assigned to it: nobody works on them now. */
    assigned: z.array(z.string()),
  }),
  async run(app, { name: input, force }) {
    await app.profiles.checkRemove(input);
    return changingProfiles(app, async () => {
      const { name, home } = await app.profiles.checkRemove(input);
      return await whileDeleting(home, async () => {
        const hooks = await profileHooks(app);
        const ended = [...((await hooks.end?.(name)) ?? [])];
        const { sandboxes, left } = await removeAllSandboxes(app, name, force);
        // A dispatcher may have started one in the moment before it could know.
        if (((await hooks.running?.(name)) ?? []).length > 0) {
          ended.push(...((await hooks.end?.(name)) ?? []));
          sandboxes.push(...(await removeAllSandboxes(app, name, force)).sandboxes);
        }
        const { sticky } = await app.profiles.remove(name);
        const assigned = [...((await hooks.assigned?.(name)) ?? [])];
        return { name, home, ended: [...new Set(ended)], sandboxes: [...new Set(sandboxes)], left, wasSticky: sticky, assigned };
      });
    });
  },
});

export type DeletedProfile = z.infer<typeof profileDelete.output>;

export interface Deletion {
  /** Tasks that are worked on under it. */
  readonly ending: readonly string[];
  /** Tasks whose sandboxes would go. */
  readonly sandboxes: readonly string[];
  readonly assigned: readonly string[];
}

/** What deleting the profile would end, and leave without anybody, for the question before it. */
export async function whatRunsUnder(app: App, name: string): Promise<Deletion> {
  await using found = await sandboxesIfKnown(app, name);
  const hooks = await profileHooks(app);
  return {
    ending: (await hooks.ending?.(name)) ?? [],
    sandboxes: [...new Set((found?.sandboxes ?? []).map(({ ref }) => ref.owner.task))].sort(),
    assigned: (await hooks.assigned?.(name)) ?? [],
  };
}

async function removeAllSandboxes(app: App, name: string, force: boolean): Promise<{ sandboxes: string[]; left: string[] }> {
  try {
    await using found = await profileSandboxes(app, name);
    if (!force) refuseUnreachable(name, found, "start it and try again; --force deletes the profile and leaves what is there to you");
    const left = found.unreachable.map(
      ({ backend, reason }) => `its sandboxes on the ${backend} backend, which does not answer: ${reason}`,
    );
    return { sandboxes: await removeProfileSandboxes(found), left };
  } catch (error) {
    if (!HoldfastError.isInstance(error) || !error.code.startsWith("config-")) throw error;
    if (force) return { sandboxes: [], left: [`its sandboxes, if it has any: ${describeError(error)}`] };
    throw new HoldfastError(error.code, `which sandboxes profile ${name} has cannot be known: ${error.message}`, {
      hint: "correct its configuration and try again; --force deletes the profile and leaves its sandboxes to you",
      facts: error.facts,
      cause: error,
    });
  }
}

async function sandboxesIfKnown(app: App, name: string): Promise<ProfileSandboxes | null> {
  try {
    return await profileSandboxes(app, name);
  } catch (error) {
    // The deletion itself says what is wrong.
    if (HoldfastError.isInstance(error)) return null;
    throw error;
  }
}
