/** @module Where a worker is, what its sandbox was like and how it ended, as its supervisor tells it. Nothing else changes: whoever releases the run decides. */
import { HoldfastError } from "../base/errors.ts";
import { first, statement } from "./database.ts";
import type { SandboxDrift } from "./drift.ts";
import { addEvent } from "./events.ts";
import { exitOf, type WorkerExit } from "./exit.ts";
import { checkError, SET_WORKER } from "./runs.ts";
import { moverOf, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { toJson } from "./task-input.ts";

export interface WorkerExitOperations {
  /**
   * Where the worker is going to be, in a sandbox: from then on it may begin. No event.
   * @throws `claim-lost`, so that nothing begins that whoever revoked the claim could not have found
   */
  recordAddress(task: string, token: string, address: Readonly<Record<string, unknown>>): Promise<void>;
  /** The worker's own process, by which it is found although its supervisor is dead and it has emptied its environment. No event. */
  recordProcess(run: number, process: WorkerProcess): Promise<void>;
  /** What the worker's sandbox had been made with, and what became of it, for people who ask about the run. */
  recordDrift(run: number, drift: SandboxDrift): Promise<void>;
  /**
   * Needs no token, so that it is heard after the run was revoked or has ended: the next worker of the task waits for it. The first word
   * counts. False unless the run is open.
   */
  recordExit(run: number, exit: WorkerExit): Promise<boolean>;
}

export interface WorkerProcess {
  readonly pid: number;
  /** Tells it from a later process with the same number. */
  readonly startedAt: string;
}

interface ExitedRun {
  task: string;
  profile: string;
  worker: string | null;
}

const RUN = statement<{ run: number }, ExitedRun>((build, hole) =>
  build.selectFrom("runs").select(["task", "profile", "worker"]).where("id", "=", hole("run")),
);

export function workerExitOperations({ database, clock }: StoreContext): WorkerExitOperations {
  return {
    recordAddress: (task, token, address) =>
      database.write(async (session) => {
        const standing = await standingOf(session, task);
        await moverOf(session, standing, { token });
        const run = standing.run_id;
        if (run === null) throw new HoldfastError("internal", `the claim on ${task} is of no run`);
        const worker = workerOf(await first(session.all(RUN, { run })));
        await session.run(SET_WORKER, { run, worker: toJson("worker", { ...worker, address }) });
      }),
    recordProcess: (run, { pid, startedAt }) =>
      database.write(async (session) => {
        const known = await first(session.all(RUN, { run }));
        if (known === undefined) return;
        await standingOf(session, known.task);
        const worker = workerOf(await first(session.all(RUN, { run })));
        session.defer(SET_WORKER, { run, worker: toJson("worker", { ...worker, process: { pid, startedAt } }) });
      }),
    recordDrift: (run, drift) =>
      database.write(async (session) => {
        const known = await first(session.all(RUN, { run }));
        if (known === undefined) return;
        const { id, board } = await standingOf(session, known.task);
        const worker = workerOf(await first(session.all(RUN, { run })));
        session.defer(SET_WORKER, { run, worker: toJson("worker", { ...worker, drift }) });
        const payload = { ...drift };
        await addEvent(session, { board, task: id, run, kind: "sandbox_drifted", actor: known.profile, at: clock.now(), payload });
      }),
    recordExit: (run, { code, signal, reason, error }) =>
      database.write(async (session) => {
        const known = await first(session.all(RUN, { run }));
        if (known === undefined) return false;
        const { id, board, run_id: open } = await standingOf(session, known.task);
        // Again, now that nobody else can write to it.
        const now = (await first(session.all(RUN, { run }))) ?? known;
        const { profile } = now;
        const worker = workerOf(now);
        if (exitOf({ worker }) === null) {
          const exit = { code, signal, reason, ...(error !== undefined && { error: checkError(error) }) };
          session.defer(SET_WORKER, { run, worker: toJson("worker", { ...worker, exit }) });
          await addEvent(session, { board, task: id, run, kind: "worker_exited", actor: profile, at: clock.now(), payload: exit });
        }
        return open === run;
      }),
  };
}

function workerOf(run: Pick<ExitedRun, "worker"> | undefined): Record<string, unknown> {
  return run === undefined || run.worker === null ? {} : (JSON.parse(run.worker) as Record<string, unknown>);
}
