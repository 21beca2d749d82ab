import { describe, expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { createBench, ownerOf, PERSISTENT } from "../../test/services/lifecycle-bench.ts";
import { HoldfastError } from "../base/errors.ts";
import { createLogger, type LogRecord } from "../base/log.ts";
import type { SandboxDriver } from "./driver.ts";
import { withLog } from "./with-log.ts";

function logging(driver: SandboxDriver) {
  const clock = createManualClock();
  const records: LogRecord[] = [];
  const log = createLogger({ clock, level: "debug", sink: (record) => records.push(record) });
  return { clock, records, driver: withLog(driver, { clock, log }) };
}

describe("a driver with a log", () => {
  test("does what the driver does, and says so at the beginning and the end", async () => {
    const { driver, records } = logging(createBench().driver);
    const owner = ownerOf("t1");
    const ref = await driver.create(owner, PERSISTENT);
    expect(await driver.list(owner)).toEqual([ref]);
    await (await driver.connect(ref))[Symbol.asyncDispose]();
    expect(await driver.activity?.(ref)).toEqual([]);
    await driver.destroy(ref);
    expect(await driver.list(owner)).toEqual([]);
    expect((await driver.check()).status).toBe("ready");
    expect(records.map(({ level, message }) => `${level} ${message}`)).toEqual(
      ["create", "list", "connect", "activity", "destroy", "list", "check"].flatMap((operation) => [
        `debug ${operation} begins`,
        `debug ${operation} done`,
      ]),
    );
    expect(records[1]?.fields).toEqual({ backend: "memory", operation: "create", task: "t1", ms: 0 });
    expect(records[4]?.fields).toEqual({ backend: "memory", operation: "connect", task: "t1", sandbox: ref.id });
  });

  test("tells a failure, with the time it took, and passes it on", async () => {
    const inner = createBench().driver;
    const error = new HoldfastError("backend-broken", "the engine is away");
    const { driver, clock, records } = logging({
      ...inner,
      async list() {
        await clock.advance(250);
        throw error;
      },
    });
    await expect(driver.list({ install: "i" })).rejects.toBe(error);
    expect(records.at(-1)).toMatchObject({ level: "info", message: "list failed", fields: { ms: 250, error: "the engine is away" } });
  });

  test.each([
    ["engine-not-found", "Docker executable not found in PATH or known install locations"],
    ["engine-not-responding", "Docker daemon is not responding: `docker version` gave no answer within 5 s"],
  ] as const)("S1 S2 %s is an ERROR record, once, in the words of the error", async (code, message) => {
    const inner = createBench().driver;
    const away = () => Promise.reject(new HoldfastError(code, message));
    const bench = createBench();
    const { driver, records } = logging({ ...inner, list: away, create: away, prepare: away });
    const lifecycle = bench.lifecycleOver(driver);
    await expect(lifecycle.acquire(ownerOf("t1"), PERSISTENT)).rejects.toMatchObject({ code });
    expect(records.filter(({ level }) => level === "error")).toMatchObject([{ message, fields: { operation: "list", thrown: true } }]);
  });

  test("keeps the abilities of the driver: no more, no fewer", () => {
    const { activity: _, ...without } = createBench().driver;
    const { driver } = logging(without);
    expect("activity" in driver).toBe(false);
    expect(driver.capabilities).toBe(without.capabilities);
  });
});
