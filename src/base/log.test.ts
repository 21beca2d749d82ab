import { expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { createLogger, LOG_LEVELS, type LogRecord, silentLogger } from "./log.ts";

function recording(level: (typeof LOG_LEVELS)[number]) {
  const records: LogRecord[] = [];
  return { records, log: createLogger({ clock: createManualClock(7), level, sink: (record) => records.push(record) }) };
}

test("records have a time, a level, a message and fields", () => {
  const { records, log } = recording("debug");
  log.info("hello", { a: 1 });
  log.warn("careful");
  expect(records).toEqual([
    { time: 7, level: "info", message: "hello", fields: { a: 1 } },
    { time: 7, level: "warn", message: "careful", fields: {} },
  ]);
});

test.for(LOG_LEVELS.map((level, index) => [level, LOG_LEVELS.slice(index)] as const))(
  "at level %s what is less is left out",
  ([level, shown]) => {
    const { records, log } = recording(level);
    for (const each of LOG_LEVELS) log[each](each);
    expect(records.map((record) => record.message)).toEqual(shown);
  },
);

test("a logger with fields adds them to every record; a record's own win", () => {
  const { records, log } = recording("info");
  const inner = log.with({ a: 1, b: 1 }).with({ b: 2 });
  inner.info("x", { c: 3 });
  inner.info("x", { a: 9 });
  inner.debug("left out");
  log.info("plain");
  expect(records.map(({ fields }) => fields)).toEqual([{ a: 1, b: 2, c: 3 }, { a: 9, b: 2 }, {}]);
});

test("K2 neither the message nor a field of a record holds a password", () => {
  const { records, log } = recording("info");
  log.with({ url: "postgres://me:hidden@db/x" }).info("postgres://db/x?password=hidden", { args: ["host=db password=hidden"] });
  expect(records).toMatchObject([
    { message: "postgres://db/x?password=***", fields: { url: "postgres://me:***@db/x", args: ["host=db password=***"] } },
  ]);
});

test("the silent logger says nothing and gives none that does", () => {
  for (const level of LOG_LEVELS) expect(silentLogger[level]("x")).toBeUndefined();
  expect(silentLogger.with({ a: 1 })).toBe(silentLogger);
});
