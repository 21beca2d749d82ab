/** @module Dispatches on all boards for as long as it runs: woken by what happens on them, by times that come, and by a tick (K23–K26). */
import type { Clock, Timer } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { Service } from "../base/service.ts";
import type { Store } from "../board/store.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { RENEW_MS } from "./leadership.ts";
import type { DispatchResult } from "./result.ts";
import type { ReadSettings } from "./settings.ts";
import { createTroubleReport } from "./trouble-report.ts";

const RETRY_MS = 5000;
const DEFAULT_TICK_MS = 60_000;

export interface DispatchServiceOptions {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly settings: () => Promise<ReadSettings>;
  readonly clock: Clock;
  readonly log: Logger;
  /** After each pass, also one that did nothing. */
  readonly onPass?: (board: string, result: DispatchResult) => void;
  /** Work that is best done when the boards have just been looked at. */
  readonly afterRound?: () => Promise<void>;
}

export interface DispatchService extends Service {
  /** Something has happened that the boards do not tell. */
  wake(): void;
}

export function createDispatchService(options: DispatchServiceOptions): DispatchService {
  const { store, dispatcher, clock, log } = options;
  const troubles = createTroubleReport();
  const timers = new Map<"tick" | "time" | "renew" | "retry", Timer>();
  let boards: readonly string[] = [];
  let running = false;
  let wanted = false;
  let rounds: Promise<void> | undefined;
  let renewing: Promise<void> | undefined;
  let watching: AsyncDisposable | undefined;

  /** Runs `work`, and tells of its failure once for each change. */
  const guarded = async <T>(subject: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      const value = await work();
      if (troubles.ends(subject)) log.info(`${subject} works again`);
      return value;
    } catch (error) {
      const trouble = describeError(error);
      if (troubles.begins(subject, trouble)) log.error(`${subject} failed: ${trouble}`);
      return undefined;
    }
  };
  const setTimer = (name: Parameters<(typeof timers)["get"]>[0], ms: number, callback: () => void) => {
    timers.get(name)?.cancel();
    if (running) timers.set(name, clock.after(ms, callback, { background: true }));
  };

  const passOver = (board: string) =>
    guarded(`dispatching on board ${board}`, async () => {
      const result = await dispatcher.runOnce(board);
      options.onPass?.(board, result);
      return await store.nextTime(board);
    });
  const round = async () => {
    const began = clock.now();
    const listed = await guarded("listing the boards", () => store.listBoards());
    if (listed !== undefined) boards = listed.map(({ slug }) => slug);
    watching ??= await guarded("watching the boards", () => store.watch(heard, { onError: reportWatch }));
    const times = await Promise.all(boards.map(passOver));
    // What had come before is for a board's leader, who may be another one; what came meanwhile the passes may have been too early for.
    const next = Math.min(...times.map((time) => time ?? 0).filter((time) => time > began));
    await guarded("tidying up", async () => options.afterRound?.());
    const tickMs = await tickInterval(options);
    setTimer("tick", tickMs, wake);
    if (next < Number.POSITIVE_INFINITY) setTimer("time", Math.max(0, Math.min(next - clock.now(), tickMs)), wake);
  };
  /** Whatever was wrong with the watch, it tells of changes. */
  const heard = () => {
    if (troubles.ends("watch")) log.info("the boards tell of changes again");
    wake();
  };
  const reportWatch = (error: unknown) => {
    if (troubles.begins("watch", describeError(error))) log.warn(`watching the boards is impaired: ${describeError(error)}`);
  };

  /** Any number of wakes during a round are one round after it. */
  const wake = () => {
    wanted = true;
    if (!running || rounds !== undefined) return;
    rounds = runRounds().finally(() => {
      rounds = undefined;
      // It may have come between the last look at `wanted` and now.
      if (wanted) wake();
    });
  };
  const runRounds = async () => {
    while (running && wanted) {
      wanted = false;
      await round();
    }
  };

  /** Beside the rounds, which may take longer than the lead lasts. */
  const renew = () => {
    renewing = renewAll().finally(() => setTimer("renew", RENEW_MS, renew));
  };
  const renewAll = async () => {
    for (const board of boards) {
      const led = dispatcher.leadership.holds(board);
      const leads = await guarded(`leading board ${board}`, () => dispatcher.leadership.renew(board));
      if (leads === true && !led) wake();
    }
  };
  dispatcher.onProgress((progress) => {
    if (progress === "done") wake();
    else setTimer("retry", RETRY_MS, wake);
  });

  return {
    name: "dispatch",
    wake,
    start() {
      if (running) return;
      running = true;
      wake();
      setTimer("renew", RENEW_MS, renew);
    },
    async stop() {
      if (!running) return;
      running = false;
      for (const timer of timers.values()) timer.cancel();
      timers.clear();
      await rounds;
      await renewing;
      await watching?.[Symbol.asyncDispose]();
      watching = undefined;
      await guarded("resigning", () => dispatcher.stop());
    },
  };
}

async function tickInterval({ settings }: DispatchServiceOptions): Promise<number> {
  try {
    return (await settings()).settings.intervalMs;
  } catch {
    // The pass has told of settings that cannot be read.
    return DEFAULT_TICK_MS;
  }
}
