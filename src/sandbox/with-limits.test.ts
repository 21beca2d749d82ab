import { describe, expect, test, vi } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { createBench, createGate, ownerOf, PERSISTENT } from "../../test/services/lifecycle-bench.ts";
import { HoldfastError } from "../base/errors.ts";
import { createLogger, type LogRecord } from "../base/log.ts";
import type { SandboxDriver, SandboxRef } from "./driver.ts";
import { withLimits } from "./with-limits.ts";

const owner = ownerOf("t1");
const never = () => new Promise<never>(() => {});

async function limited(change: (driver: SandboxDriver) => Partial<SandboxDriver> = () => ({}), changesAtOnce?: number) {
  const clock = createManualClock();
  const records: LogRecord[] = [];
  const log = createLogger({ clock, level: "debug", sink: (record) => records.push(record) });
  const inner = createBench().driver;
  const limits = changesAtOnce === undefined ? {} : { changesAtOnce };
  const driver = withLimits({ ...inner, ...change(inner) }, { clock, log, limits });
  // Some sandbox, for operations that need one.
  const ref = await inner.create(ownerOf("any"), PERSISTENT);
  return { clock, records, inner, driver, ref };
}

describe("the time limit of an operation", () => {
  test("does not show while the driver answers", async () => {
    const { driver, clock } = await limited();
    const ref = await driver.create(owner, PERSISTENT);
    expect(await driver.list(owner)).toEqual([ref]);
    expect(await driver.activity?.(ref)).toEqual([]);
    await (await driver.connect(ref))[Symbol.asyncDispose]();
    await driver.destroy(ref);
    expect((await driver.check()).status).toBe("ready");
    expect(clock.pending).toBe(0);
  });

  test.each([
    ["list", 10, (driver: SandboxDriver) => driver.list(owner)],
    ["create", 60, (driver: SandboxDriver) => driver.create(owner, PERSISTENT)],
    ["connect", 30, (driver: SandboxDriver, ref: SandboxRef) => driver.connect(ref)],
    ["destroy", 60, (driver: SandboxDriver, ref: SandboxRef) => driver.destroy(ref)],
    ["activity", 10, (driver: SandboxDriver, ref: SandboxRef) => driver.activity?.(ref)],
  ] as const)("ends the wait for a hanging %s after %d s", async (operation, seconds, run) => {
    const { driver, clock, ref } = await limited(() => ({ [operation]: never }));
    const failed = expect(run(driver, ref)).rejects.toMatchObject({
      code: "operation-timeout",
      message: `the memory backend did not finish ${operation} within ${seconds} s`,
      facts: { backend: "memory", operation, limitMs: seconds * 1000 },
    });
    await clock.advance(seconds * 1000 - 1);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    await failed;
  });

  test("of a check makes it a broken backend, since a check never throws", async () => {
    const { driver, clock } = await limited(() => ({ check: never }));
    const checked = driver.check();
    await clock.advance(8_000);
    expect(await checked).toMatchObject({ status: "broken", reason: "the memory backend did not finish check within 8 s" });
  });

  test("cancels the operation, and is what the caller hears of even when the driver rejects at once", async () => {
    let signal: AbortSignal | undefined;
    const { driver, clock } = await limited(() => ({
      list: (_, options = {}) => {
        signal = options.signal;
        return new Promise((_resolve, reject) =>
          signal?.addEventListener("abort", () => reject(new HoldfastError("aborted", "cancelled"))),
        );
      },
    }));
    const failed = expect(driver.list(owner)).rejects.toMatchObject({ code: "operation-timeout" });
    await clock.advance(10_000);
    await failed;
    expect(signal?.aborted).toBe(true);
  });

  test("does not keep the caller's own signal from the driver", async () => {
    const { driver, ref } = await limited((memory) => ({
      async connect(...args) {
        controller.abort();
        return memory.connect(...args);
      },
    }));
    const controller = new AbortController();
    await expect(driver.connect(ref, controller)).rejects.toMatchObject({ code: "aborted" });
    await expect(driver.create(owner, PERSISTENT, controller)).rejects.toMatchObject({ code: "aborted" });
    expect(await driver.list(owner)).toEqual([]);
  });

  test("does not lose a sandbox that is made too late", async () => {
    const gate = createGate();
    const { driver, inner, clock, records } = await limited((memory) => ({
      async create(forOwner, spec) {
        await gate.pass();
        return memory.create(forOwner, spec);
      },
    }));
    const failed = expect(driver.create(owner, PERSISTENT)).rejects.toMatchObject({ code: "operation-timeout" });
    await clock.advance(60_000);
    await failed;
    gate.open();
    await vi.waitFor(() => expect(records).toContainEqual(expect.objectContaining({ level: "warn" })), { timeout: 60_000 });
    const [ref] = await inner.list(owner);
    expect(records.find(({ level }) => level === "warn")?.fields).toEqual({ backend: "memory", sandbox: ref?.id, task: "t1" });
  });

  test("closes a connection that is opened too late", async () => {
    const gate = createGate();
    const closed = Promise.withResolvers<void>();
    const { driver, clock, ref } = await limited((memory) => ({
      async connect(...args) {
        await gate.pass();
        const connection = await memory.connect(args[0]);
        return {
          ...connection,
          async [Symbol.asyncDispose]() {
            await connection[Symbol.asyncDispose]();
            closed.resolve();
          },
        };
      },
    }));
    const failed = expect(driver.connect(ref)).rejects.toMatchObject({ code: "operation-timeout" });
    await gate.reached;
    await clock.advance(30_000);
    await failed;
    gate.open();
    await closed.promise;
  });

  test("logs a failure that comes too late", async () => {
    const gate = createGate();
    const { driver, clock, records } = await limited(() => ({
      async list() {
        await gate.pass();
        throw new HoldfastError("backend-broken", "the engine is away");
      },
    }));
    const failed = expect(driver.list(owner)).rejects.toMatchObject({ code: "operation-timeout" });
    await clock.advance(10_000);
    await failed;
    gate.open();
    await vi.waitFor(
      () => expect(records.at(-1)).toMatchObject({ message: "list failed after its limit", fields: { error: "the engine is away" } }),
      { timeout: 60_000 },
    );
  });
});

describe("the number of creations and removals at once", () => {
  test("is bounded, and every one gets its turn", async () => {
    let [now, most] = [0, 0];
    const busy = async <T>(work: () => Promise<T>): Promise<T> => {
      most = Math.max(most, ++now);
      await new Promise(setImmediate);
      return work().finally(() => now--);
    };
    const { driver, inner } = await limited((memory) => ({
      create: (...args) => busy(() => memory.create(...args)),
      destroy: (...args) => busy(() => memory.destroy(...args)),
    }));
    const refs = await Promise.all(Array.from({ length: 20 }, (_, index) => driver.create(ownerOf(`t${index}`), PERSISTENT)));
    expect(most).toBe(8);
    await Promise.all([...refs.map((ref) => driver.destroy(ref)), driver.create(ownerOf("new"), PERSISTENT)]);
    expect(most).toBe(8);
    expect((await inner.list({ install: owner.install })).map((ref) => ref.owner.task).sort()).toEqual(["any", "new"]);
  });

  test("is not used up by operations that hang or fail", async () => {
    let hanging = true;
    const { driver, clock } = await limited((memory) => ({ create: (...args) => (hanging ? never() : memory.create(...args)) }), 1);
    const first = expect(driver.create(owner, PERSISTENT)).rejects.toMatchObject({ code: "operation-timeout" });
    const second = driver.create(owner, PERSISTENT);
    hanging = false;
    await clock.advance(60_000);
    await first;
    expect((await second).owner).toEqual(owner);
  });

  test("does not hold a caller who gives up before the turn comes, nor takes the turn from the next", async () => {
    const gate = createGate();
    const { driver } = await limited(
      (memory) => ({
        async create(forOwner, spec) {
          if (forOwner.task === "t1") await gate.pass();
          return memory.create(forOwner, spec);
        },
      }),
      1,
    );
    const first = driver.create(owner, PERSISTENT);
    const controller = new AbortController();
    const second = expect(driver.create(ownerOf("t2"), PERSISTENT, controller)).rejects.toMatchObject({ code: "aborted" });
    const third = driver.create(ownerOf("t3"), PERSISTENT);
    controller.abort();
    await second;
    gate.open();
    await first;
    expect((await third).owner.task).toBe("t3");
  });
});

test("a limited driver keeps the abilities of the driver: no more, no fewer", () => {
  const { activity: _, ...without } = createBench().driver;
  const clock = createManualClock();
  const driver = withLimits(without, { clock, log: createLogger({ clock, level: "error", sink: () => {} }) });
  expect("activity" in driver).toBe(false);
  expect(driver.capabilities).toBe(without.capabilities);
});
