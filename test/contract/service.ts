/** @module The contract suite of everything that works in a loop. */
import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/base/clock.ts";
import { createLogger, type Logger, type LogRecord } from "../../src/base/log.ts";
import type { TickingService } from "../../src/base/service.ts";
import { createManualClock } from "../helpers/manual-clock.ts";

export interface ServiceBench {
  readonly clock: Clock;
  readonly log: Logger;
  /** To be awaited once in every round: counts it, holds it up, or lets it fail. */
  enterRound(): Promise<void>;
}

export interface ServiceSuite {
  readonly name: string;
  create(bench: ServiceBench): { service: TickingService<object>; intervalMs: number };
}

const WORKERS = 10;
const ROUNDS = 50;

export function testService({ name, create }: ServiceSuite): void {
  const open = () => openBench(create);

  describe(`service: ${name}`, () => {
    test("ticks once per interval, however often it is started", async () => {
      const { service, intervalMs, clock, rounds } = open();
      for (let times = 0; times < 3; times++) service.start();
      expect(rounds()).toBe(0);
      for (let tick = 1; tick <= 3; tick++) {
        await clock.advance(intervalMs);
        expect(rounds()).toBe(tick);
      }
      await service.stop();
    });

    test("stopping ends the ticking for good", async () => {
      const { service, intervalMs, clock, rounds } = open();
      service.start();
      await clock.advance(intervalMs);
      await service.stop();
      expect(clock.pending).toBe(0);
      await clock.advance(10 * intervalMs);
      expect(rounds()).toBe(1);
    });

    test("stopping is harmless before the start, and twice", async () => {
      const { service, intervalMs, clock, rounds } = open();
      await service.stop();
      service.start();
      await Promise.all([service.stop(), service.stop()]);
      await service.stop();
      await clock.advance(5 * intervalMs);
      expect([rounds(), clock.pending]).toEqual([0, 0]);
    });

    test("it can be started again", async () => {
      const { service, intervalMs, clock, rounds } = open();
      for (let life = 1; life <= 3; life++) {
        service.start();
        await clock.advance(intervalMs);
        await service.stop();
        expect(rounds()).toBe(life);
      }
    });

    test("stopping waits for the round under way", async () => {
      const { service, intervalMs, clock, hold } = open();
      const release = hold();
      service.start();
      await clock.advance(intervalMs);
      let stopped = false;
      const stopping = service.stop().then(() => {
        stopped = true;
      });
      await clock.advance(5 * intervalMs);
      expect(stopped).toBe(false);
      release();
      await stopping;
    });

    test("a round that takes long is not overlapped by the next", async () => {
      const { service, intervalMs, clock, rounds, hold } = open();
      const release = hold();
      service.start();
      await clock.advance(5 * intervalMs);
      expect(rounds()).toBe(1);
      release();
      await clock.advance(0);
      await clock.advance(intervalMs);
      expect(rounds()).toBe(2);
      await service.stop();
    });

    test("a round that fails does not end the ticking, nor the stopping", async () => {
      const { service, intervalMs, clock, rounds, fail } = open();
      fail();
      service.start();
      await clock.advance(intervalMs);
      await clock.advance(intervalMs);
      expect(rounds()).toBe(2);
      await service.stop();
    });

    test("stopping and starting during a round leaves one loop, not two", async () => {
      const { service, intervalMs, clock, rounds, hold } = open();
      const release = hold();
      service.start();
      await clock.advance(intervalMs);
      const stopping = service.stop();
      service.start();
      release();
      await stopping;
      expect(clock.pending).toBe(1);
      const before = rounds();
      await clock.advance(intervalMs);
      await clock.advance(intervalMs);
      expect(rounds() - before).toBe(2);
      await service.stop();
    });

    test("a round by hand joins the one under way", async () => {
      const { service, rounds, hold } = open();
      const release = hold();
      const both = Promise.all([service.runOnce(), service.runOnce()]);
      release();
      const [first, second] = await both;
      expect(first).toBe(second);
      expect(rounds()).toBe(1);
      await service.runOnce();
      expect(rounds()).toBe(2);
    });

    test(`${WORKERS} at once that start and stop it ${ROUNDS} times each leave it whole`, async () => {
      const { service, intervalMs, clock, rounds } = open();
      const worker = async (number: number) => {
        for (let round = 0; round < ROUNDS; round++) {
          service.start();
          if ((round + number) % 3 === 0) await clock.advance(intervalMs);
          await service.stop();
        }
      };
      await Promise.all(Array.from({ length: WORKERS }, (_, number) => worker(number)));
      expect(clock.pending).toBe(0);
      service.start();
      const before = rounds();
      await clock.advance(intervalMs);
      expect([rounds() - before, clock.pending]).toEqual([1, 1]);
      await service.stop();
    });
  });
}

function openBench(create: ServiceSuite["create"]) {
  const clock = createManualClock();
  const records: LogRecord[] = [];
  const log = createLogger({ clock, level: "debug", sink: (record) => records.push(record) });
  let entered = 0;
  let held: Promise<void> = Promise.resolve();
  let failing = false;
  const made = create({
    clock,
    log,
    async enterRound() {
      entered++;
      await held;
      if (failing) throw new Error("this round fails");
    },
  });
  return {
    ...made,
    clock,
    records,
    rounds: () => entered,
    /** Rounds from now on wait until the returned function is called. */
    hold() {
      const gate = Promise.withResolvers<void>();
      held = gate.promise;
      return gate.resolve;
    },
    fail() {
      failing = true;
    },
  };
}
