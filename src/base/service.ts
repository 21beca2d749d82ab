/** @module The shape of everything that works in a loop. */
import type { Clock, Timer } from "./clock.ts";
import { describeError } from "./errors.ts";
import type { Logger } from "./log.ts";

export interface Service {
  readonly name: string;
  /** Begins to tick. Starting a started service changes nothing. */
  start(): void;
  /** Ends the ticking and waits for a round under way. Harmless when stopped or never started. */
  stop(): Promise<void>;
}

export interface TickingService<Counts> extends Service {
  /** One round, also callable by hand. Rounds never overlap: a second caller joins the round under way. */
  runOnce(): Promise<Counts>;
}

export interface TickingServiceOptions<Counts> {
  name: string;
  intervalMs: number;
  clock: Clock;
  log: Logger;
  /** Does one round and says what it did. A throw is logged, and the next tick comes all the same. */
  round: () => Promise<Counts>;
}

export function createTickingService<Counts extends object>(options: TickingServiceOptions<Counts>): TickingService<Counts> {
  const { name, intervalMs, clock, log, round } = options;
  // Each start gets its own number, so that a round left over from before a stop never schedules a second loop.
  let generation = 0;
  let running = false;
  let timer: Timer | undefined;
  let current: Promise<Counts> | undefined;

  const runOnce = (): Promise<Counts> => {
    current ??= round().finally(() => {
      current = undefined;
    });
    return current;
  };
  const schedule = (ofGeneration: number) => {
    timer = clock.after(intervalMs, () => void tick(ofGeneration), { background: true });
  };
  const tick = async (ofGeneration: number) => {
    try {
      const counts = await runOnce();
      log.debug(`${name}: round done`, { counts });
    } catch (error) {
      log.error(`${name}: round failed`, { error: describeError(error) });
    }
    if (running && ofGeneration === generation) schedule(ofGeneration);
  };

  return {
    name,
    start() {
      if (running) return;
      running = true;
      schedule(++generation);
    },
    async stop() {
      running = false;
      timer?.cancel();
      timer = undefined;
      // A failed round has been logged by its tick; stopping only has to wait for it.
      await current?.catch(() => {});
    },
    runOnce,
  };
}
