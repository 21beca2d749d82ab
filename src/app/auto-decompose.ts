/** @module What the dispatcher does with triage: a few tasks per pass are split up, and one that failed is left alone for a while. */
import { describeError, HoldfastError } from "../base/errors.ts";
import type { Store } from "../board/store.ts";
import type { Task } from "../board/task.ts";
import type { App } from "./create-app.ts";
import { modelIfAny } from "./model-of.ts";
import { createPlanner, type Planner } from "./plans/decompose.ts";

const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 3_600_000;
/** A board may have any number of tasks in triage that are left alone. */
const LOOK_AT = 500;

export interface AutoDecomposed {
  readonly task: string;
  readonly children: readonly string[];
  readonly error: string | null;
}

export interface AutoDecomposer {
  /** At most `limit` questions to the model; nothing without one, or when `kanban.auto_decompose` is off. */
  run(board: string, options: { limit: number }): Promise<AutoDecomposed[]>;
}

interface Pause {
  readonly until: number;
  readonly ms: number;
}

const ofApps = new WeakMap<App, AutoDecomposer>();

/** The same memory for each call with the same app. */
export function autoDecompose(app: App, board: string, options: { limit: number }): Promise<AutoDecomposed[]> {
  const known = ofApps.get(app) ?? createAutoDecomposer(app);
  ofApps.set(app, known);
  return known.run(board, options);
}

function createAutoDecomposer(app: App): AutoDecomposer {
  const pauses = new Map<string, Pause>();
  const left = (id: string) => (pauses.get(id)?.until ?? 0) > app.clock.monotonic();
  const failed = (id: string) => {
    const ms = Math.min(LONGEST_PAUSE_MS, (pauses.get(id)?.ms ?? FIRST_PAUSE_MS / 2) * 2);
    pauses.set(id, { until: app.clock.monotonic() + ms, ms });
  };
  /** Null: somebody else was quicker, or has moved it meanwhile. */
  const attempt = async (task: Task, planner: Planner): Promise<AutoDecomposed | null> => {
    try {
      const children = await planner.carryOut(task, await planner.plan(task));
      pauses.delete(task.id);
      return { task: task.id, children, error: null };
    } catch (error) {
      if (HoldfastError.isInstance(error) && error.code === "move-refused") return null;
      failed(task.id);
      return { task: task.id, children: [], error: describeError(error) };
    }
  };
  return {
    async run(board, { limit }) {
      const { store, options } = await app.kanban();
      const model = options.auto_decompose ? await modelIfAny(app) : null;
      if (model === null) return [];
      const waiting = await store.listTasks({ board, status: "triage", limit: LOOK_AT });
      const planner = await createPlanner(app, model, app.profile.name);
      const done: AutoDecomposed[] = [];
      for (const task of waiting) {
        if (done.length >= limit) break;
        if (left(task.id) || (await waitsForPerson(task, store))) continue;
        const outcome = await attempt(task, planner);
        if (outcome !== null) done.push(outcome);
      }
      return done;
    },
  };
}

/** A part of a task that was split up is in triage only because somebody wants to look at it first. */
async function waitsForPerson({ id }: Task, store: Pick<Store, "children">): Promise<boolean> {
  return (await store.children(id)).some(({ decomposedAt }) => decomposedAt !== null);
}
