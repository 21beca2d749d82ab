/** @module Where each waiting task goes in a pass: to a worker, or into the bucket that says why not (K14, K15). */
import type { WaitingTask } from "../board/waiting.ts";
import type { Clearance } from "./predecessors.ts";
import type { Cap, DispatchResult, Unspawnable } from "./result.ts";
import type { DispatchSettings } from "./settings.ts";
import type { Distrust } from "./trust.ts";
import type { WorkerSettings } from "./worker.ts";
import type { WorkerLookup } from "./worker-lookup.ts";

/** `lost`: somebody else was quicker. `stop`: nothing may be started any more. */
export type Taken = "taken" | "lost" | "stop";

export interface Candidate {
  readonly task: WaitingTask;
  readonly assignee: string;
  readonly worker: WorkerSettings;
  /** The last run of the task that had a worker. */
  readonly last: number | null;
}

export interface RouteActions {
  /** False when somebody else was quicker. */
  assign(task: WaitingTask, assignee: string): Promise<boolean>;
  /** Why its worker must not have it. */
  distrust(task: WaitingTask, assignee: string, worker: WorkerSettings): Promise<Distrust | null>;
  previous(task: WaitingTask): Promise<Clearance>;
  take(candidate: Candidate): Promise<Taken>;
}

export interface RouteOptions {
  readonly settings: DispatchSettings;
  readonly now: number;
  readonly lookup: WorkerLookup;
  /** Open runs for each profile, on all boards. */
  readonly running: Readonly<Record<string, number>>;
  /** Open runs of this board. */
  readonly onBoard: number;
  /** Most that may be started. */
  readonly max: number | undefined;
  readonly result: DispatchResult;
  readonly actions: RouteActions;
}

export async function route(tasks: readonly WaitingTask[], options: RouteOptions): Promise<void> {
  const { settings, now, lookup, result, actions } = options;
  const counts = countsOf(options);
  const fallback = await defaultAssignee(settings, lookup);
  for (const task of tasks) {
    const assignee = task.assignee ?? (await assigned(task, fallback, { result, actions }));
    if (assignee === null) continue;
    const found = await spawnable(task, assignee, { settings, lookup });
    if (typeof found === "string") {
      result.skipped_nonspawnable.push({ task: task.id, assignee, reason: found });
      continue;
    }
    if (task.guard !== null && task.guard.until > now) {
      result.respawn_guarded.push({ task: task.id, ...task.guard });
      continue;
    }
    if (counts.isFull(task.id, assignee)) continue;
    const distrust = await actions.distrust(task, assignee, found);
    if (distrust !== null) {
      result.skipped_nonspawnable.push({ task: task.id, assignee, reason: distrust.reason });
      continue;
    }
    const previous = await actions.previous(task);
    if (!previous.clear) {
      result.respawn_guarded.push({ task: task.id, ...previous.rest });
      continue;
    }
    const taken = await actions.take({ task, assignee, worker: found, last: previous.last });
    if (taken === "stop") return;
    if (taken === "taken") counts.add(assignee);
  }
}

/** One that does not exist would swallow tasks, so it counts as none. */
async function defaultAssignee({ defaultAssignee: name }: DispatchSettings, lookup: WorkerLookup): Promise<string | null> {
  if (name === null) return null;
  const found = await lookup(name);
  return "missing" in found && found.missing === "no_profile" ? null : name;
}

/** A review is somebody's on purpose or nobody's on purpose. */
async function assigned(
  task: WaitingTask,
  fallback: string | null,
  { result, actions }: Pick<RouteOptions, "result" | "actions">,
): Promise<string | null> {
  if (fallback === null || task.status === "review") {
    result.skipped_unassigned.push(task.id);
    return null;
  }
  if (!(await actions.assign(task, fallback))) return null;
  result.auto_assigned_default.push({ task: task.id, assignee: fallback });
  return fallback;
}

async function spawnable(
  task: WaitingTask,
  assignee: string,
  { settings, lookup }: Pick<RouteOptions, "settings" | "lookup">,
): Promise<WorkerSettings | Unspawnable> {
  if (task.status === "review" && !settings.reviews) return "review_dispatch_off";
  if (settings.profiles !== null && !settings.profiles.includes(assignee)) return "not_in_dispatch_profiles";
  const found = await lookup(assignee);
  return "missing" in found ? found.missing : found.worker;
}

function countsOf({ settings, running, onBoard, max, result }: RouteOptions) {
  const byProfile = new Map(Object.entries(running));
  const of = (profile: string) => byProfile.get(profile) ?? 0;
  let all = [...byProfile.values()].reduce((sum, count) => sum + count, 0);
  let here = onBoard;
  let started = 0;
  const full = (): { cap: Cap; running: number } | null => {
    if (settings.maxInProgress !== null && all >= settings.maxInProgress) return { cap: "max_in_progress", running: all };
    if (settings.maxSpawn !== null && here >= settings.maxSpawn) return { cap: "max_spawn", running: here };
    return max !== undefined && started >= max ? { cap: "max", running: started } : null;
  };
  return {
    /** Says so in its bucket. */
    isFull(task: string, assignee: string): boolean {
      const own = of(assignee);
      if (settings.maxPerProfile !== null && own >= settings.maxPerProfile) {
        result.skipped_per_profile_capped.push({ task, assignee, running: own });
        return true;
      }
      const cap = full();
      if (cap !== null) result.skipped_capped.push({ task, ...cap });
      return cap !== null;
    },
    add(assignee: string): void {
      byProfile.set(assignee, of(assignee) + 1);
      all += 1;
      here += 1;
      started += 1;
    },
  };
}
