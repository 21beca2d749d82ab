/** @module What a finished task leaves: its workspace and its sandbox go when nothing of it lives any more (K30). */
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { Store } from "../board/store.ts";
import type { Task } from "../board/task.ts";
import { isFinished } from "../board/transitions.ts";
import type { Launcher } from "./worker.ts";
import type { Workspaces } from "./workspace.ts";

export interface TidyOptions {
  readonly store: Pick<Store, "events" | "lastEvent" | "runs" | "getTask">;
  readonly launcher: Pick<Launcher, "look">;
  readonly workspaces: Pick<Workspaces, "settle">;
  /** Removes the sandboxes that belonged to the task alone. */
  readonly removeSandboxes: (task: Task, profiles: readonly string[]) => Promise<void>;
  /** Tasks of which something is left from before this dispatcher began. Some of them may not be finished. */
  readonly leftBehind: () => Promise<readonly string[]>;
  readonly log: Logger;
}

export interface Tidy {
  /** Looks at what was finished since the last time, and at what could not go then. */
  round(): Promise<void>;
}

export function createTidy({ store, launcher, workspaces, removeSandboxes, leftBehind, log }: TidyOptions): Tidy {
  let since: number | undefined;
  const pending = new Set<string>();

  const collect = async () => {
    if (since === undefined) {
      since = await store.lastEvent();
      for (const task of await leftBehind()) pending.add(task);
    }
    for (;;) {
      const events = await store.events({ since });
      for (const { id, kind, task } of events) {
        since = id;
        if ((kind === "completed" || kind === "archived") && task !== null) pending.add(task);
      }
      if (events.length === 0) return;
    }
  };
  const settle = async (id: string) => {
    const task = await store.getTask(id);
    if (!isFinished(task.status)) {
      pending.delete(id);
      return;
    }
    const runs = await store.runs({ task: id });
    const states = await Promise.all(runs.filter(({ worker }) => worker !== null).map((run) => launcher.look(run)));
    // Its worker may still write the last of its files.
    if (states.includes("alive")) return;
    pending.delete(id);
    await removeSandboxes(task, [...new Set(runs.map(({ profile }) => profile))]);
    const { kept } = await workspaces.settle(task);
    if (kept !== null) log.debug(`the workspace of ${id} stays: ${kept}`);
  };

  return {
    async round() {
      await collect();
      for (const id of pending) {
        try {
          await settle(id);
        } catch (error) {
          pending.delete(id);
          log.warn(`what ${id} left could not be removed: ${describeError(error)}`);
        }
      }
    },
  };
}
