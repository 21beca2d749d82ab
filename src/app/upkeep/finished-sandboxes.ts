/** @module Sandboxes of finished tasks that no dispatcher has removed, by the rule that dispatchers keep to (K30). */
import { describeError } from "../../base/errors.ts";
import { type FreeOptions, free } from "../../dispatcher/settle-finished.ts";
import type { App } from "../create-app.ts";
import { knownTasks, type LeftSandbox, leftSandboxes, removeSandboxesOf } from "../left-behind.ts";
import type { ProfileConfigs } from "../worker-directory.ts";

export interface CollectedSandbox extends LeftSandbox {
  readonly why: string;
}

export interface CollectedSandboxes {
  readonly removed: readonly CollectedSandbox[];
  /** They should be gone, but could not be removed. */
  readonly kept: readonly CollectedSandbox[];
}

export interface CollectSandboxesOptions {
  readonly board: string;
  readonly dryRun: boolean;
  readonly freeing: FreeOptions;
  readonly configs: Pick<ProfileConfigs, "configOf">;
}

export async function collectSandboxes(
  app: App,
  { board, dryRun, freeing, configs }: CollectSandboxesOptions,
): Promise<CollectedSandboxes> {
  const found = await leftSandboxes(app, app.log);
  const tasks = (
    await knownTasks(
      app,
      found.map(({ task }) => task),
    )
  ).filter((task) => task.board === board);
  const remove = removeSandboxesOf(app, configs);
  const removed: CollectedSandbox[] = [];
  const kept: CollectedSandbox[] = [];
  for (const { id } of tasks) {
    const own = found.filter(({ task }) => task === id).map(({ profile }) => profile);
    const placed = (profiles: readonly string[], why: string) => profiles.map((profile) => ({ task: id, profile, why }));
    try {
      const freed = await free(id, freeing, { dryRun });
      if (typeof freed === "string") continue;
      // One that nobody worked in for the task is not the task's.
      const its = own.filter((profile) => freed.profiles.includes(profile));
      removed.push(...placed(dryRun ? its : await remove(freed.task, its), `${id} is ${freed.task.status}`));
    } catch (error) {
      kept.push(...placed(own, describeError(error)));
    }
  }
  return { removed, kept };
}
