/**
 * @module Ends runs: first the claim is revoked, then the worker is made sure to be dead, and only then the task is free (K18). It goes on
 * beside the passes, one ending for each run at a time.
 */
import type { Clock } from "../base/clock.ts";
import { describeError, HoldfastError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { exitOf } from "../board/exit.ts";
import type { Release } from "../board/failures.ts";
import type { Run } from "../board/runs.ts";
import type { Store } from "../board/store.ts";
import { restAfterVerdict } from "./backoff.ts";
import { classifyExit } from "./classify-exit.ts";
import { bucketOf } from "./judge.ts";
import { createRecent } from "./recent.ts";
import type { DispatchResult } from "./result.ts";
import type { DispatchSettings } from "./settings.ts";
import { createTroubleReport } from "./trouble-report.ts";
import type { Verdict } from "./verdict.ts";
import type { Launcher } from "./worker.ts";

export interface Endings {
  /** Does nothing while the run is already being ended. */
  start(run: Run, verdict: Verdict, options: EndOptions): void;
  isEnding(run: number): boolean;
  /** What a run that could not be ended was to be released as. */
  wanted(run: number): Verdict | undefined;
  /** When those that go on now are over. */
  settled(): Promise<void>;
  /** Puts what has been ended on the board since the last time into the buckets. */
  collect(board: string, result: DispatchResult): void;
}

export interface EndOptions {
  readonly board: string;
  readonly settings: DispatchSettings;
}

export interface EndingsOptions {
  readonly store: Pick<Store, "revoke" | "release" | "runs" | "getTask">;
  readonly launcher: Pick<Launcher, "look" | "end">;
  readonly by: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
  readonly tailOfLog?: ((run: Run) => Promise<string>) | undefined;
  /** One is over; false: the worker could not be made sure to be dead, so it must be tried again. */
  readonly onSettled: (ended: boolean) => void;
}

interface Ended {
  readonly task: string;
  readonly board: string;
  readonly bucket: ReturnType<typeof bucketOf>;
  readonly gaveUp: boolean;
}

export function createEndings(options: EndingsOptions): Endings {
  const { log, onSettled } = options;
  const under = new Map<number, Promise<void>>();
  /** A run that others have ended leaves its verdict behind. */
  const wanted = createRecent<number, Verdict>();
  const troubles = createTroubleReport();
  let ended: Ended[] = [];

  const attempt = async (run: Run, verdict: Verdict, { board, settings }: EndOptions) => {
    try {
      const released = await endRun(options, { run, verdict, settings });
      if (released !== null) ended.push({ ...released, task: run.task, board });
      wanted.delete(run.id);
      if (troubles.ends(String(run.id))) log.info(`run ${run.id} of ${run.task} has been ended at last`, { task: run.task, run: run.id });
      return true;
    } catch (error) {
      wanted.set(run.id, verdict);
      const trouble = describeError(error);
      if (troubles.begins(String(run.id), trouble)) {
        log.error(`run ${run.id} of ${run.task} could not be ended, so the task stays running: ${trouble}`, {
          task: run.task,
          run: run.id,
        });
      }
      return false;
    }
  };

  return {
    start(run, verdict, end) {
      if (under.has(run.id)) return;
      const work = attempt(run, verdict, end).then((success) => {
        under.delete(run.id);
        onSettled(success);
      });
      under.set(run.id, work);
    },
    isEnding: (run) => under.has(run),
    wanted: (run) => wanted.get(run),
    async settled() {
      await Promise.all(under.values());
    },
    collect(board, result) {
      for (const { task, bucket, gaveUp } of ended.filter((each) => each.board === board)) {
        result[bucket].push(task);
        if (gaveUp) result.auto_blocked.push(task);
      }
      ended = ended.filter((each) => each.board !== board);
    },
  };
}

interface Work {
  readonly run: Run;
  readonly verdict: Verdict;
  readonly settings: DispatchSettings;
}

/** Null when there was nothing to end: its worker had the last word, or has just shown that it lives. */
async function endRun(options: EndingsOptions, { run, verdict, settings }: Work): Promise<Pick<Ended, "bucket" | "gaveUp"> | null> {
  const { store, launcher, by } = options;
  const { outcome, ifExpiredAt } = verdict;
  await store.revoke(run.id, { by, reason: outcome ?? "worker ended", ifExpiredAt });
  // No worker can be recorded after that, so the one that is recorded now is the only one there can be.
  const revoked = await openRun(store, run);
  if (revoked === undefined || revoked.revokedAt === null) return null;
  if ((await launcher.look(revoked)) !== "elsewhere") await launcher.end(revoked, { graceMs: settings.graceMs });
  const dead = (await openRun(store, run)) ?? revoked;
  const end = await explain(options, dead, verdict);
  const task = await store.getTask(run.task);
  const { random, clock } = options;
  const guard = restAfterVerdict(verdict, end.outcome, { task, settings, now: clock.now(), random });
  try {
    const { gaveUp } = await store.release(run.id, { by, ...end, failureLimit: settings.failureLimit, guard });
    return { bucket: bucketOf(end.outcome, verdict), gaveUp };
  } catch (error) {
    // Another dispatcher was quicker.
    if (HoldfastError.isInstance(error) && error.code === "claim-lost") return null;
    throw error;
  }
}

async function openRun(store: EndingsOptions["store"], { task, id }: Run): Promise<Run | undefined> {
  return (await store.runs({ task, open: true })).find((each) => each.id === id);
}

async function explain(
  { tailOfLog }: EndingsOptions,
  run: Run,
  verdict: Verdict,
): Promise<{ outcome: Release; error: string | undefined }> {
  if (verdict.outcome !== null) return { outcome: verdict.outcome, error: verdict.error };
  const { outcome, error, log } = classifyExit(exitOf(run));
  const tail = log && tailOfLog !== undefined ? (await tailOfLog(run)).trimEnd() : "";
  return { outcome, error: tail === "" ? error : `${error}\n${tail}` };
}
