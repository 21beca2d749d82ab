/** @module The dispatcher: one pass over a board, which ends what must end and starts what can start (K13). */
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { createTurns, type InTurn } from "../base/in-turn.ts";
import type { Logger } from "../base/log.ts";
import type { Run } from "../board/runs.ts";
import type { Store } from "../board/store.ts";
import { dryRun } from "./dry-run.ts";
import { createEndings } from "./endings.ts";
import { DISPATCHER } from "./launcher.ts";
import { createLeadership, type Leadership } from "./leadership.ts";
import { lookAtRuns } from "./look-at-runs.ts";
import { createPredecessors } from "./predecessors.ts";
import { promote } from "./promote.ts";
import { type ReconcileOptions, reconcile } from "./reconcile.ts";
import { type DispatchResult, emptyResult } from "./result.ts";
import type { ReadSettings } from "./settings.ts";
import { createSettingsSource } from "./settings-source.ts";
import { startWorkers, takeTasks } from "./spawn.ts";
import { createStarts } from "./starts.ts";
import { createTimelines } from "./timeline.ts";
import { createTroubleReport } from "./trouble-report.ts";
import type { Launcher, WorkerDirectory } from "./worker.ts";
import { createWorkerLookups } from "./worker-lookup.ts";
import type { Workspaces } from "./workspace.ts";

/** No supervisor renews its claim less often. */
const LONGEST_HEARTBEAT_MS = 30_000;
/** What cannot go wrong by itself need not be looked for each time. */
const THOROUGH_MS = 60_000;

export interface DispatcherOptions {
  readonly store: Store;
  readonly launcher: Launcher;
  readonly workspaces: Workspaces;
  readonly workers: WorkerDirectory;
  /** Read anew at each pass (K26). */
  readonly settings: () => Promise<ReadSettings>;
  /** Different for each dispatcher, also for two of one machine. */
  readonly holder: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** @default Math.random */
  readonly random?: () => number;
  /** The last lines that a worker wrote, for the error of a run that failed. */
  readonly tailOfLog?: (run: Run) => Promise<string>;
}

export interface PassOptions {
  /** Says what a pass would do, and changes nothing (K16). */
  readonly dryRun?: boolean | undefined;
  /** Most workers that are started. */
  readonly max?: number | undefined;
  /** Until all that is ended in this pass has ended, so that it can start anew at once. Otherwise a later pass tells of it. */
  readonly wait?: boolean | undefined;
}

export interface Dispatcher {
  /** One pass. Those of one board come one after the other. */
  runOnce(board: string, options?: PassOptions): Promise<DispatchResult>;
  readonly leadership: Leadership;
  /** Called when something has happened beside the passes that a pass may go on with; `again`: it failed, and needs another try later. */
  onProgress(listener: (progress: "done" | "again") => void): void;
  /** Waits for the passes and endings under way, and lets another dispatcher lead. Workers go on. */
  stop(): Promise<void>;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, launcher, clock, log, random = Math.random } = options;
  const by = options.holder.startsWith(DISPATCHER) ? options.holder : `${DISPATCHER}${options.holder}`;
  const listeners: ((progress: "done" | "again") => void)[] = [];
  const tell = (progress: "done" | "again") => {
    for (const listener of listeners) listener(progress);
  };
  const leadership = createLeadership({ store, holder: by, clock });
  const endings = createEndings({ ...options, by, random, onSettled: (ended) => tell(ended ? "done" : "again") });
  const predecessors = createPredecessors({ store, launcher, clock, log, onSettled: (gone) => tell(gone ? "done" : "again") });
  const settingsSource = createSettingsSource(options.settings, log);
  const timelines = createTimelines(clock);
  const lookups = createWorkerLookups(options.workers, log);
  const launching = new Set<number>();
  const inTurnOf = new Map<string, InTurn>();
  const spawningInTurn = createTurns();
  const thoroughAt = new Map<string, number>();
  const starts = createStarts(clock, () => tell("done"));
  const troubles = createTroubleReport();
  const services = { ...options, random, by, endings, predecessors, launching, leads: leadership.sure };

  const isThorough = (board: string) => {
    const last = thoroughAt.get(board);
    if (last !== undefined && clock.monotonic() - last < THOROUGH_MS) return false;
    thoroughAt.set(board, clock.monotonic());
    return true;
  };

  /** A worker that does not die keeps its own task from being put right, and no other from being started. */
  const putRight = async (step: ReconcileOptions) => {
    try {
      const tasks = await reconcile(step);
      if (troubles.ends(step.board)) log.info(`tasks of board ${step.board} can be put right again`);
      return tasks;
    } catch (error) {
      const trouble = describeError(error);
      if (troubles.begins(step.board, trouble)) log.error(`tasks of board ${step.board} could not be put right: ${trouble}`);
      return [];
    }
  };

  const pass = async (board: string, { dryRun: dry = false, max, wait = false }: PassOptions): Promise<DispatchResult> => {
    const result = emptyResult();
    const { settings } = await settingsSource();
    const time = timelines.look({ settleMs: Math.min(LONGEST_HEARTBEAT_MS, settings.claimTtlMs / 3) });
    const step = { ...services, board, settings, time, lookup: lookups(), max, result };
    if (dry) {
      await dryRun(step);
      return result;
    }
    if (!(await leadership.sure(board))) {
      result.skipped_locked = true;
      return result;
    }
    for (const { run, verdict, ours } of await lookAtRuns(step)) {
      if (ours) endings.start(run, verdict, step);
      else result.elsewhere.push(run.task);
    }
    if (settings.reconcile && isThorough(board)) result.reconciled.push(...(await putRight(step)));
    if (wait) await endings.settled();
    await promote(store, time.now, { board, result });
    const started = startWorkers(services, await spawningInTurn(() => takeTasks(services, step)), step);
    result.spawned.push(...(await starts.wait(board, started, { fully: wait })));
    if (wait) await endings.settled();
    endings.collect(board, result);
    return result;
  };

  return {
    runOnce(board, passOptions = {}) {
      const inTurn = inTurnOf.get(board) ?? createTurns();
      inTurnOf.set(board, inTurn);
      return inTurn(() => pass(board, passOptions));
    },
    leadership,
    onProgress(listener) {
      listeners.push(listener);
    },
    async stop() {
      predecessors.stop();
      await Promise.all([...inTurnOf.values()].map((inTurn) => inTurn(async () => {})));
      await endings.settled();
      await starts.settled();
      await leadership.resign();
    },
  };
}
