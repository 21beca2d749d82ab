/** @module The last step of a pass: takes tasks by priority and age, and starts their workers. */
import { describeError, HoldfastError } from "../base/errors.ts";
import type { Claim } from "../board/claims.ts";
import type { Store } from "../board/store.ts";
import type { WaitingTask } from "../board/waiting.ts";
import type { Endings } from "./endings.ts";
import type { Predecessors } from "./predecessors.ts";
import type { DispatchResult } from "./result.ts";
import { type Candidate, route, type Taken } from "./route.ts";
import type { DispatchSettings } from "./settings.ts";
import type { Timeline } from "./timeline.ts";
import { distrustOf } from "./trust.ts";
import type { Launcher, WorkerDirectory } from "./worker.ts";
import type { WorkerLookup } from "./worker-lookup.ts";
import type { Workspaces } from "./workspace.ts";

/** Each start takes some milliseconds in which this process has little to do. */
const AT_ONCE = 4;

export interface SpawnServices {
  readonly store: Store;
  readonly launcher: Launcher;
  readonly workspaces: Workspaces;
  readonly workers: WorkerDirectory;
  readonly endings: Endings;
  readonly predecessors: Predecessors;
  readonly by: string;
  /** Runs that are being started here. */
  readonly launching: Set<number>;
  /** Right before a claim: does this dispatcher still lead? */
  readonly leads: (board: string) => Promise<boolean>;
}

export interface SpawnOptions {
  readonly board: string;
  readonly settings: DispatchSettings;
  readonly time: Timeline;
  readonly lookup: WorkerLookup;
  readonly max: number | undefined;
  readonly result: DispatchResult;
}

export type Spawned = DispatchResult["spawned"][number];

interface Start {
  readonly candidate: Candidate;
  readonly claim: Claim;
}

/** Claims all that may run now. Nothing else may count or claim in this process meanwhile, or together they exceed the caps. */
export async function takeTasks(services: SpawnServices, options: SpawnOptions): Promise<Start[]> {
  const starts: Start[] = [];
  try {
    await takeInto(starts, services, options);
    return starts;
  } catch (error) {
    // Nobody starts them now, and the next pass can free only what does not count as being started.
    for (const { claim } of starts) services.launching.delete(claim.run.id);
    throw error;
  }
}

async function takeInto(starts: Start[], services: SpawnServices, options: SpawnOptions): Promise<void> {
  const { store, predecessors, by } = services;
  const { board, settings, time } = options;
  const running = await store.running();
  const { length: onBoard } = await store.openRuns(board);
  await route(await store.waiting(board), {
    ...options,
    now: time.now,
    running,
    onBoard,
    actions: {
      assign: async (task, assignee) => await assign(store, task, { assignee, by }),
      distrust: (task, profile, worker) => distrustOf({ ...task, board }, { profile, worker }, services),
      previous: (task) => predecessors.check(task.id, { settings, time, dryRun: false }),
      take: (candidate) => take(services, candidate, { ...options, starts }),
    },
  });
}

/** Those that run now, in the order in which they were taken. */
export async function startWorkers(services: SpawnServices, starts: readonly Start[], options: SpawnOptions): Promise<Spawned[]> {
  const waiting = starts.map((start, index) => ({ start, index }));
  const spawned: Spawned[] = [];
  const next = async () => {
    for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
      const workspace = await startWorker(services, each.start, options);
      const { task, run } = each.start.claim;
      if (workspace !== null) spawned[each.index] = { task: task.id, assignee: run.profile, workspace };
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, starts.length) }, next));
  return spawned.filter((each) => each !== undefined);
}

async function assign(store: Store, task: WaitingTask, { assignee, by }: { assignee: string; by: string }): Promise<boolean> {
  try {
    const changed = await store.assign(task.id, assignee, { by, source: "kanban.default_assignee", ifUnassigned: true });
    return changed.assignee === assignee;
  } catch (error) {
    if (isLostRace(error)) return false;
    throw error;
  }
}

async function take(services: SpawnServices, candidate: Candidate, options: SpawnOptions & { starts: Start[] }): Promise<Taken> {
  const { store, predecessors, endings, by, launching, leads } = services;
  const { board, settings, starts } = options;
  if (!(await leads(board))) return "stop";
  const { task, assignee, worker, last } = candidate;
  let claim: Claim;
  try {
    // They were counted before, but not together with what other processes do.
    const caps = { perProfile: settings.maxPerProfile, perBoard: settings.maxSpawn, all: settings.maxInProgress };
    claim = await store.claim(task.id, { by, profile: assignee, ttlMs: settings.claimTtlMs, caps });
  } catch (error) {
    if (isLostRace(error)) return "lost";
    throw error;
  }
  // Its assignee was changed, or it had another worker, or a sandbox had a hand in it, since it was looked at.
  const same =
    claim.task.assignee === assignee &&
    (await predecessors.unchanged(task.id, { claimed: claim.run.id, last })) &&
    (await distrustOf(claim.task, { profile: assignee, worker }, services)) === null;
  if (same) {
    launching.add(claim.run.id);
    starts.push({ candidate, claim });
    return "taken";
  }
  endings.start(claim.run, { outcome: "reclaimed", error: "it changed while it was taken" }, { board, settings });
  return "lost";
}

/** The path of its workspace, or null when it could not be started, which counts as a failure (K20). */
async function startWorker(
  services: SpawnServices,
  { candidate, claim }: Start,
  { board, settings }: SpawnOptions,
): Promise<string | null> {
  const { launcher, workspaces, endings, launching } = services;
  try {
    const workspace = await workspaces.prepare(claim.task);
    await launcher.launch(claim, { worker: candidate.worker, workspace, settings });
    return workspace.path;
  } catch (error) {
    endings.start(claim.run, { outcome: "spawn_failed", error: describeError(error) }, { board, settings });
    return null;
  } finally {
    launching.delete(claim.run.id);
  }
}

/** It was taken, moved, removed or guarded since it was read. */
function isLostRace(error: unknown): boolean {
  return HoldfastError.isInstance(error) && (error.code === "move-refused" || error.code === "task-not-found");
}
