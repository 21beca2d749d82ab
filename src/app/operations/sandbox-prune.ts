/** @module Removes what nobody needs any more: sandboxes that ended long ago, and what those that are gone have left on the host. */
import * as z from "zod/mini";
import { describeError } from "../../base/errors.ts";
import { DEFAULT_TASK } from "../../base/names.ts";
import type { App } from "../create-app.ts";
import { isPrunable } from "../keeping.ts";
import { leftoversOf } from "../leftovers.ts";
import { appsOfProfiles, sandboxesOf } from "../listed-sandboxes.ts";
import { defineOperation } from "../operation.ts";
import type { PruneReport } from "../results.ts";
import { listTaskSettings } from "../task-settings.ts";

const Pruned = z.object({
  what: z.string(),
  why: z.string(),
  profile: z.string(),
  /** Null: it is gone, or with `dryRun` would be. */
  problem: z.nullable(z.string()),
});

interface Candidate {
  readonly what: string;
  readonly why: string;
  remove(): Promise<void>;
}

export const sandboxPrune = defineOperation({
  name: "sandbox.prune",
  summary: "Remove sandboxes that ended long ago, and what those that are gone have left behind",
  input: z.strictObject({
    all: z._default(z.boolean(), false),
    dryRun: z._default(z.boolean(), false),
    /** Also the files that users of a sandbox that is gone left in its home and workspace. */
    files: z._default(z.boolean(), false),
  }),
  output: z.object({ dryRun: z.boolean(), pruned: z.readonly(z.array(Pruned)) }),
  async run(app, { all, dryRun, files }): Promise<PruneReport> {
    const apps = all ? await appsOfProfiles(app) : [app];
    const pruned: PruneReport["pruned"][number][] = [];
    for (const each of apps) {
      // Sandboxes first: what one of them leaves is then found with the rest.
      for (const find of [endedLongAgo, leftBehind]) {
        for (const { what, why, remove } of await find(each, { files })) {
          const problem = dryRun ? null : await problemOf(remove());
          pruned.push({ what, why, profile: each.profile.name, problem });
        }
      }
    }
    return { dryRun, pruned };
  },
});

async function endedLongAgo(app: App): Promise<Candidate[]> {
  const found = await sandboxesOf(app);
  const candidates = await Promise.all(
    found.map(async ({ app: own, ref }): Promise<Candidate[]> => {
      const rules = (await own.config()).values.terminal;
      if (!isPrunable(ref, { rules, now: app.clock.now() })) return [];
      const since = ref.stoppedAt === undefined ? "it never ran" : `stopped since ${new Date(ref.stoppedAt).toISOString()}`;
      const remove = async () => (await own.lifecycle()).prune(ref);
      return [{ what: `sandbox ${ref.id} of task ${ref.owner.task}`, why: since, remove }];
    }),
  );
  return candidates.flat();
}

async function leftBehind(app: App, options: { files: boolean }): Promise<Candidate[]> {
  const apps = await appsOfBackends(app);
  return (await Promise.all(apps.map((each) => leftOnBackend(each, options)))).flat();
}

/** One for the configured backend, and for each other one that tasks have chosen for themselves. */
async function appsOfBackends(app: App): Promise<App[]> {
  const ofTasks = await Promise.all(listTaskSettings(app.profile.home, app).map(({ task }) => app.forTask(task)));
  const byName = new Map<string, App>();
  for (const each of [...ofTasks, app]) byName.set((await each.driver()).name, each);
  return [...byName.values()];
}

async function leftOnBackend(app: App, { files }: { files: boolean }): Promise<Candidate[]> {
  const { install, profile } = await app.owner(DEFAULT_TASK);
  const all = await leftoversOf(app, { install, profile }, "pruned");
  return all.filter((leftover) => files || !leftover.files);
}

async function problemOf(work: Promise<void>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return describeError(error);
  }
}
