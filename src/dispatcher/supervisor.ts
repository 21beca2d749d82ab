/**
 * @module One process for one run: it starts the worker, keeps the claim while it lives, and tells how it ended. It judges nothing: what
 * becomes of the task is for the dispatcher, which may be another one by then.
 */
import { aborted } from "../base/abort.ts";
import { type Clock, delay, type Timer, within } from "../base/clock.ts";
import { describeError, HoldfastError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { findProcess } from "../base/process-tree.ts";
import type { SandboxDrift } from "../board/drift.ts";
import type { WorkerExit } from "../board/exit.ts";
import type { Store } from "../board/store.ts";
import type { StartedWorker, StartWorker, WorkerStatus } from "./host-worker.ts";
import type { Job } from "./job.ts";
import { LINGER_MS } from "./linger.ts";
import type { SandboxAddress } from "./worker.ts";

/** What a supervisor needs of the store. */
export type SupervisorStore = Pick<Store, "heartbeat" | "recordAddress" | "recordDrift" | "recordExit" | "recordProcess" | "runs">;

export interface SupervisorOptions {
  readonly job: Job;
  readonly start: StartWorker;
  /** Opened only when the worker runs: that is what somebody waits for. */
  readonly store: () => Promise<SupervisorStore>;
  readonly output: (chunk: Uint8Array) => void | Promise<void>;
  /** Somebody wants the worker to end. */
  readonly stop: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
}

const HEARTBEAT_MS = 15_000;
const RETRY_MS = 1_000;
/** For what is good to know but not needed. */
const ANSWER_LIMIT_MS = 5_000;
/** The exit is told in time, or the dispatcher finds out by itself. */
const REPORT_LIMIT_MS = 60_000;

type Ending = Pick<WorkerExit, "reason" | "error"> & Partial<WorkerStatus>;

export async function supervise({ job, start, store, output, stop, clock, log }: SupervisorOptions): Promise<void> {
  let active = true;
  const onOutput = (chunk: Uint8Array) => {
    active = true;
    return output(chunk);
  };
  let worker: StartedWorker;
  try {
    const onDrift = (drift: SandboxDrift) =>
      void tell("what the sandbox had been made with", { job, store, clock, log }, (board) => board.recordDrift(job.run, drift));
    const record = (address: SandboxAddress) => recordAddress({ job, store, clock, log }, address);
    worker = await start(job, { clock, onOutput, onDrift, record });
  } catch (error) {
    await report({ job, store, clock, log }, { code: null, signal: null, reason: "start_failed", error: describeError(error) });
    return;
  }
  void tellProcess({ job, store, clock, log }, worker);
  const timers: Timer[] = [];
  const after = (ms: number) => new Promise<void>((resolve) => timers.push(clock.after(ms, resolve)));
  const wasActive = () => {
    const answer = active;
    active = false;
    return answer;
  };
  const finished = worker.ended.then((status): Ending => ({ reason: "exited", ...status }));
  const endings: Promise<Ending>[] = [
    finished,
    aborted(stop).then(() => ({ reason: "stopped" })),
    keepClaim({ job, store, clock, log, wasActive }).then(async (end): Promise<Ending> => {
      if (end === "said its last word") await Promise.race([finished, after(LINGER_MS)]);
      return { reason: "claim_lost" };
    }),
  ];
  if (job.maxRuntimeMs !== null) endings.push(after(job.maxRuntimeMs).then(() => ({ reason: "timed_out" })));
  const ending = await Promise.race(endings);
  for (const timer of timers) timer.cancel();
  await worker.end(job.graceMs);
  const status = ending.reason === "exited" ? ending : await worker.ended;
  await report({ job, store, clock, log }, { code: status.code ?? null, signal: status.signal ?? null, reason: ending.reason });
}

interface Keeping {
  readonly job: Job;
  readonly store: SupervisorOptions["store"];
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Renews the claim until it is lost. When the database cannot be reached, the claim runs out by itself, and somebody else may get the
 * task: so the worker must be dead by then, by a clock that nobody can set.
 */
async function keepClaim({
  job,
  store,
  clock,
  log,
  wasActive,
}: Keeping & { wasActive: () => boolean }): Promise<"said its last word" | "revoked" | "run out"> {
  const pause = Math.min(HEARTBEAT_MS, job.ttlMs / 3);
  const lastsMs = job.ttlMs - Math.min(job.ttlMs / 3, job.graceMs + HEARTBEAT_MS);
  const renew = async () => await (await store()).heartbeat(job.task, job.token, { ttlMs: job.ttlMs, active: wasActive() });
  let renewed = clock.monotonic();
  for (;;) {
    try {
      const asked = clock.monotonic();
      await inTime(renew(), { clock, limitMs: renewed + lastsMs - asked });
      renewed = asked;
      await delay(clock, pause, { background: true });
    } catch (error) {
      if (HoldfastError.isInstance(error) && (error.code === "claim-lost" || error.code === "task-not-found")) {
        return (await hasEnded({ job, store, clock })) ? "said its last word" : "revoked";
      }
      if (clock.monotonic() - renewed >= lastsMs) return "run out";
      log.warn(`the claim of run ${job.run} could not be renewed: ${describeError(error)}`);
      await delay(clock, RETRY_MS, { background: true });
    }
  }
}

/** As long as the database cannot be reached, it is tried again: the worker waits, and then was not started. */
async function recordAddress({ job: { run, task, token }, store, clock, log }: Keeping, address: SandboxAddress): Promise<void> {
  const tell = async () => await (await store()).recordAddress(task, token, { ...address });
  const began = clock.monotonic();
  for (;;) {
    try {
      return await inTime(tell(), { clock, limitMs: ANSWER_LIMIT_MS });
    } catch (error) {
      if (!(HoldfastError.isInstance(error) && error.retryable) || clock.monotonic() - began > REPORT_LIMIT_MS) throw error;
      log.warn(`where the worker of run ${run} is going to be could not be recorded: ${describeError(error)}`);
      await delay(clock, RETRY_MS);
    }
  }
}

/** For whoever must end the worker should this process be killed. It is found without, unless it has emptied its environment. */
async function tellProcess(keeping: Keeping, { pid }: StartedWorker): Promise<void> {
  const found = pid === undefined ? null : findProcess(pid);
  if (found === null) return;
  const { run } = keeping.job;
  await tell("the process", keeping, (board) => board.recordProcess(run, { pid: found.pid, startedAt: found.startedAt }));
}

/** What is good to know but not needed. */
async function tell(
  what: string,
  { job: { run }, store, clock, log }: Keeping,
  record: (board: SupervisorStore) => Promise<void>,
): Promise<void> {
  try {
    await inTime(store().then(record), { clock, limitMs: ANSWER_LIMIT_MS });
  } catch (error) {
    log.warn(`${what} of run ${run} could not be recorded: ${describeError(error)}`);
  }
}

async function hasEnded({ job: { task, run }, store, clock }: Omit<Keeping, "log">): Promise<boolean> {
  const ask = async () => await (await store()).runs({ task });
  try {
    const runs = await inTime(ask(), { clock, limitMs: ANSWER_LIMIT_MS });
    return runs.some(({ id, endedAt, revokedAt }) => id === run && endedAt !== null && revokedAt === null);
  } catch {
    // Whatever keeps it from being read: a worker that is ended too early has still lost its claim.
    return false;
  }
}

/** A connection to a machine that is gone fails late or never, and meanwhile the claim runs out. */
async function inTime<T>(work: Promise<T>, { clock, limitMs }: { clock: Clock; limitMs: number }): Promise<T> {
  const late = (): never => {
    throw new HoldfastError("board-unavailable", "the board does not answer");
  };
  return await within(work, { clock, limitMs: Math.max(0, limitMs), late, background: true });
}

async function report({ job, store, clock, log }: Keeping, exit: WorkerExit): Promise<void> {
  const began = clock.monotonic();
  for (;;) {
    try {
      await (await store()).recordExit(job.run, exit);
      return;
    } catch (error) {
      log.warn(`the end of run ${job.run} could not be told: ${describeError(error)}`);
      if (clock.monotonic() - began > REPORT_LIMIT_MS) return;
      await delay(clock, RETRY_MS);
    }
  }
}
