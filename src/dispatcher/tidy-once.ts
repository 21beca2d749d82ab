/**
 * @module What tasks that ended not long ago have left, for a dispatcher that does not stay: whoever dispatches from cron should not collect
 * a sandbox for each task (K30). It asks for what is there first, since the next pass finds most of the same tasks again.
 */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { describeError, HoldfastError } from "../base/errors.ts";
import type { Run } from "../board/runs.ts";
import type { Store } from "../board/store.ts";
import { recordOf } from "./launcher.ts";
import { mayLive, recentlyEnded } from "./left-workers.ts";
import { type SettleOptions, settleFinished } from "./settle-finished.ts";

export interface TidyOnceOptions extends SettleOptions {
  readonly store: Pick<Store, "events" | "lastEvent" | "runs" | "getTask">;
  /** All that these profiles have on this machine. */
  readonly sandboxes: (profiles: ReadonlySet<string>) => Promise<readonly { readonly task: string; readonly profile: string }[]>;
  /** Only who leads the board knows that nobody else starts a worker in what it removes. */
  readonly leads: (board: string) => Promise<boolean>;
}

export async function tidyOnce(board: string, options: TidyOnceOptions): Promise<void> {
  const { store, log } = options;
  const recent = [...(await recentlyEnded(store, { last: await store.lastEvent(), board }))];
  if (recent.length === 0) return;
  const runs = new Map(await Promise.all(recent.map(async (task): Promise<[string, Run[]]> => [task, await store.runs({ task })])));
  const found = await options.sandboxes(new Set([...runs.values()].flat().map(({ profile }) => profile)));
  for (const [task, own] of runs) {
    const only = new Set(found.filter((each) => each.task === task).map(({ profile }) => profile));
    if (only.size === 0 && !own.some(mayLive) && !own.some(hasWorkspace)) continue;
    if (!(await options.leads(board))) return;
    try {
      await settleFinished(task, options, { only });
    } catch (error) {
      if (HoldfastError.isInstance(error) && error.code === "task-not-found") continue;
      log.warn(`what ${task} left could not be removed, and the next pass tries again: ${describeError(error)}`);
    }
  }
}

/** Those that we make are named like their task; directories of the user are not, and stay anyway. */
function hasWorkspace(run: Run): boolean {
  const workspace = recordOf(run)?.workspace;
  return workspace !== undefined && basename(workspace) === run.task && existsSync(workspace);
}
