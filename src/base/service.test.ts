import { expect, test } from "vitest";
import { testService } from "../../test/contract/service.ts";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { createLogger, type LogRecord } from "./log.ts";
import { createTickingService } from "./service.ts";

testService({
  name: "ticking service",
  create: ({ clock, log, enterRound }) => ({
    intervalMs: 1000,
    service: createTickingService({
      name: "test",
      intervalMs: 1000,
      clock,
      log,
      async round() {
        await enterRound();
        return {};
      },
    }),
  }),
});

test("rounds and their failures are logged, and a failure by hand goes to who asked", async () => {
  const clock = createManualClock();
  const records: LogRecord[] = [];
  const log = createLogger({ clock, level: "debug", sink: (record) => records.push(record) });
  let count = 0;
  const service = createTickingService({
    name: "counter",
    intervalMs: 1000,
    clock,
    log,
    async round() {
      if (++count === 2) throw new Error("out of luck");
      return { count };
    },
  });
  service.start();
  await clock.advance(2000);
  expect(records.map(({ level, message, fields }) => [level, message, fields])).toEqual([
    ["debug", "counter: round done", { counts: { count: 1 } }],
    ["error", "counter: round failed", { error: "out of luck" }],
  ]);
  await service.stop();
  expect(await service.runOnce()).toEqual({ count: 3 });
  count = 1;
  await expect(service.runOnce()).rejects.toThrow("out of luck");
  expect(await service.runOnce()).toEqual({ count: 3 });
});
