/** @module Starts a supervisor for each claim, and finds and ends what lives of a run, whichever dispatcher started it. */
import { type Clock, delay } from "../base/clock.ts";
import { HoldfastError, systemCode } from "../base/errors.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { findProcess, findTree, killTree, type TreeSelector } from "../base/process-tree.ts";
import type { Claim } from "../board/claims.ts";
import type { BoardFiles } from "../board/files.ts";
import type { Run } from "../board/runs.ts";
import type { NewSandboxPlace } from "../board/sandbox-places.ts";
import type { Store } from "../board/store.ts";
import { type Job, MARK } from "./job.ts";
import { comparePlaces } from "./place.ts";
import type { Supervisors } from "./supervisors.ts";
import type { Launcher, LaunchOptions, Place, WorkerRecord } from "./worker.ts";

export interface LauncherOptions {
  readonly store: Pick<Store, "recordWorker" | "enterSandbox">;
  readonly files: BoardFiles;
  readonly home: string;
  /** As `openStore` takes it. */
  readonly database: string;
  readonly place: Place;
  readonly supervisors: Supervisors;
  /** All variables of a worker. */
  readonly workerEnv: (claim: Claim, options: LaunchOptions) => Promise<Record<string, string>>;
  /** To what it can write on the host from a sandbox with files of its own; null for a worker that has the host's. */
  readonly reachOf: (claim: Claim, options: LaunchOptions) => Promise<readonly NewSandboxPlace[] | null>;
  /** Ends what a run left in a sandbox. */
  readonly endInSandbox: (run: Run, record: WorkerRecord, options: { graceMs: number }) => Promise<void>;
  /** A supervisor of ours has ended. */
  readonly onEnd: (run: number) => void;
  readonly clock: Clock;
}

/** Names of profiles have no slash, so nobody can pass for a dispatcher. */
export const DISPATCHER = "dispatcher/";

const POLL_MS = 20;
/** A supervisor ends its worker within the grace and then has to tell. */
const TELL_MS = 3_000;

export function createLauncher(options: LauncherOptions): Launcher {
  const { store, files, place, clock, supervisors, endInSandbox, onEnd } = options;
  /** Runs whose supervisor is being started by this very process. */
  const starting = new Set<number>();

  return {
    async launch(claim, launch) {
      const { run, task, token } = claim;
      starting.add(run.id);
      try {
        const env = await options.workerEnv(claim, launch);
        const reach = await options.reachOf(claim, launch);
        const isolated = reach !== null;
        // Settings of the task alone may send it elsewhere than its profile's other tasks.
        if (!isolated && task.fromSandbox && !launch.worker.acceptsFromSandboxes) throw wouldRise(claim);
        await makeDirectory(files.logs(task.board));
        const supervisor = await supervisors.take();
        try {
          const { pid, startedAt, mark } = supervisor;
          const { sandbox } = launch.worker;
          const workspace = launch.workspace.path;
          const record: WorkerRecord = { place, supervisor: { pid, startedAt }, mark, sandbox, workspace, isolated, address: null };
          if (reach !== null) await store.enterSandbox(task.id, token, reach);
          await store.recordWorker(task.id, token, { ...record }, { supervisor: pid, sandbox, workspace });
          supervisor.onEnd(() => onEnd(run.id));
          // Only now: a worker must not live before anybody could find it.
          supervisor.tell(jobOf(claim, { options, launch, env, mark, isolated }));
        } catch (error) {
          // It has not been told what to do, so it has done nothing.
          supervisor.dismiss();
          throw error;
        }
      } finally {
        starting.delete(run.id);
      }
    },
    async look(run) {
      const record = recordOf(run);
      if (record === null && isForeign(run)) return "elsewhere";
      if (record === null) return starting.has(run.id) || !run.claimedBy.startsWith(DISPATCHER) ? "alive" : "gone";
      const where = comparePlaces(place, record.place);
      if (where !== "here") return where === "past" ? "gone" : "elsewhere";
      return supervisorOf(record) === null ? "gone" : "alive";
    },
    async end(run, { graceMs }) {
      const record = recordOf(run);
      if (record === null && !isForeign(run)) return;
      const where = record === null ? "elsewhere" : comparePlaces(place, record.place);
      if (record === null || where === "elsewhere") throw onAnotherMachine(run);
      if (where === "here") await endHere(record, { graceMs, clock });
      // A supervisor records where its worker is going to be before it begins, and can no longer once its claim is revoked.
      if (record.sandbox !== "none" && record.address !== null) await endInSandbox(run, record, { graceMs });
    },
  };
}

interface JobParts {
  readonly options: LauncherOptions;
  readonly launch: LaunchOptions;
  readonly env: Readonly<Record<string, string>>;
  readonly mark: string;
  readonly isolated: boolean;
}

function jobOf({ run, task, token }: Claim, { options, launch, env, mark, isolated }: JobParts): Job {
  const { worker, workspace, settings } = launch;
  return {
    run: run.id,
    task: task.id,
    board: task.board,
    profile: run.profile,
    token,
    database: options.database,
    home: options.home,
    mark,
    command: worker.command,
    sandbox: worker.sandbox,
    workspace: workspace.path,
    isolated,
    env,
    log: { path: options.files.log(task.board, task.id), ...settings.log },
    maxRuntimeMs: task.maxRuntimeMs ?? worker.maxRuntimeMs,
    graceMs: settings.graceMs,
    ttlMs: settings.claimTtlMs,
  };
}

/** First through the supervisor, which ends its worker and tells how; what is left of a dead or stuck one is ended from here. */
async function endHere(record: WorkerRecord, { graceMs, clock }: { graceMs: number; clock: Clock }): Promise<void> {
  const alive = () => supervisorOf(record) !== null;
  signal(record, "SIGTERM");
  signal(record, "SIGCONT");
  const limit = clock.monotonic() + graceMs + TELL_MS;
  while (alive() && clock.monotonic() < limit) await delay(clock, POLL_MS);
  if (alive()) signal(record, "SIGKILL");
  const selector = { variable: MARK, value: record.mark, ...rootOf(record) };
  if (alive() || findTree(selector).length > 0) await killTree(selector, { clock, graceMs: alive() ? 0 : graceMs });
}

function signal(record: WorkerRecord, name: NodeJS.Signals): void {
  const supervisor = supervisorOf(record);
  if (supervisor === null) return;
  try {
    process.kill(supervisor.pid, name);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

/** A process of that number which began at another time is a stranger. */
function supervisorOf({ supervisor }: WorkerRecord): { pid: number } | null {
  const found = findProcess(supervisor.pid);
  return found?.startedAt === supervisor.startedAt ? found : null;
}

/** One that has emptied its environment does not carry the mark. */
function rootOf({ process: worker }: WorkerRecord): Pick<TreeSelector, "root" | "rootEnded"> {
  return worker === undefined ? {} : { root: worker.pid, rootEnded: findProcess(worker.pid)?.startedAt !== worker.startedAt };
}

function wouldRise({ task, run }: Claim): HoldfastError {
  const what = `${task.id} comes from a sandbox, and this worker of ${run.profile} would run on the host`;
  return new HoldfastError("move-refused", what, {
    hint: `let it run in a sandbox with files of its own, or set worker.accepts_from_sandboxes of ${run.profile} to true`,
    facts: { task: task.id, profile: run.profile },
  });
}

function onAnotherMachine({ id, task }: Run): HoldfastError {
  return new HoldfastError("unsupported", `the worker of run ${id} is not on this machine, so it cannot be ended from here`, {
    hint: `a dispatcher there frees the task; if that machine is gone for good: holdfast kanban reclaim ${task} --gone`,
    facts: { run: id, task },
  });
}

/** Something has a worker here that was not started by a launcher. */
function isForeign({ worker }: Run): boolean {
  return worker !== null && worker.exit === undefined;
}

export function recordOf(run: Run): WorkerRecord | null {
  const worker = run.worker as Partial<WorkerRecord> | null;
  return worker?.supervisor !== undefined && worker.place !== undefined ? (worker as WorkerRecord) : null;
}
