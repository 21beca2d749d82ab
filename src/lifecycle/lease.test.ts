import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Bench, createBench, createGate, FLEETING, openCall, ownerOf, PERSISTENT } from "../../test/services/lifecycle-bench.ts";
import { HoldfastError } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";
import type { SandboxDriver } from "../sandbox/driver.ts";
import { createDriver as createLocalDriver } from "../sandbox/drivers/local/driver.ts";

const owner = ownerOf("t1");

/** Another process removes the sandbox. */
async function removeBehindItsBack({ anotherDriver, existing }: Bench) {
  const driver = anotherDriver();
  for (const ref of await existing("t1")) await driver.destroy(ref);
}

/** A file outside the sandbox to which a command adds a line for each time it runs. */
function createTally() {
  const path = join(tmpdir(), `holdfast-tally-${randomId(8)}`);
  onTestFinished(() => rmSync(path, { force: true }));
  return { command: `echo ran >>${path}`, runs: () => readFileSync(path, "utf8").split("\n").length - 1 };
}

function withSpawn(driver: SandboxDriver, spawn: () => Promise<never>): SandboxDriver {
  return { ...driver, connect: async (...args) => ({ ...(await driver.connect(...args)), spawn }) };
}

describe("a sandbox that was removed from outside", () => {
  test("S20 is replaced once; the command runs once, and the result lists what was lost", async () => {
    const bench = createBench({ createDriver: createLocalDriver });
    const lease = await bench.lifecycle.acquire(owner, PERSISTENT);
    const before = lease.sandbox.ref.id;
    await lease.sandbox.run("export KEPT=yes; cd /usr");
    await removeBehindItsBack(bench);
    const tally = createTally();
    const result = await lease.sandbox.run(`${tally.command}; echo "kept: $KEPT"`);
    expect(result).toMatchObject({ exitCode: 0, output: "kept: \n" });
    expect(tally.runs()).toBe(1);
    expect(result.replaced?.lost).toEqual([
      "all sessions, with their directories, variables, functions and aliases",
      "all background processes",
    ]);
    expect(lease.sandbox.ref.id).not.toBe(before);
    expect((await lease.sandbox.run("true")).replaced).toBeNull();
    expect(bench.asked.filter((what) => what === "create t1")).toHaveLength(2);
  });

  test("S20 calls at the same time share the one replacement, and each result tells of it", async () => {
    const bench = createBench({ createDriver: createLocalDriver });
    const lease = await bench.lifecycle.acquire(owner, PERSISTENT);
    await lease.sandbox.run("true");
    await removeBehindItsBack(bench);
    const tally = createTally();
    const results = await Promise.all(Array.from({ length: 5 }, () => lease.sandbox.run(tally.command)));
    expect(tally.runs()).toBe(5);
    expect(results.map(({ replaced }) => replaced !== null)).toEqual(Array(5).fill(true));
    expect(bench.lines).toEqual({ opened: 2, closed: 1 });
    expect(bench.asked.filter((what) => what === "create t1")).toHaveLength(2);
  });

  test("S20 while a command runs in it makes that call fail; nothing is repeated, and the next call goes on in a new one", async () => {
    const bench = createBench({ createDriver: createLocalDriver });
    const lease = await bench.lifecycle.acquire(owner, PERSISTENT);
    const tally = createTally();
    const { promise: running, resolve } = Promise.withResolvers<void>();
    const call = lease.sandbox.run(`${tally.command}; echo running; sleep 60`, { onOutput: () => resolve() });
    const failed = expect(call).rejects.toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: true } });
    await running;
    await removeBehindItsBack(bench);
    await failed;
    expect(tally.runs()).toBe(1);
    const next = await lease.sandbox.run("echo on");
    expect(next).toMatchObject({ output: "on\n", replaced: { lost: expect.any(Array) } });
  });

  test("S20 every lease on it is told, once", async () => {
    const bench = createBench();
    const [first, second] = [await bench.lifecycle.acquire(owner, PERSISTENT), await bench.lifecycle.acquire(owner, PERSISTENT)];
    for (const ref of await bench.existing()) await bench.driver.destroy(ref);
    expect((await first.sandbox.run("true")).replaced).not.toBeNull();
    expect((await second.sandbox.run("true")).replaced).not.toBeNull();
    expect((await second.sandbox.run("true")).replaced).toBeNull();
  });

  test("S20 a holder whose call failed is told with the next result", async () => {
    const bench = createBench();
    const lease = await bench.lifecycle.acquire(owner, PERSISTENT);
    for (const ref of await bench.existing()) await bench.driver.destroy(ref);
    await expect(lease.sandbox.run("true", { cwd: "/nowhere" })).rejects.toMatchObject({ code: "cwd-invalid" });
    expect((await lease.sandbox.run("true")).replaced).not.toBeNull();
  });

  test("S20 has no sessions any more", async () => {
    const bench = createBench();
    const lease = await bench.lifecycle.acquire(owner, PERSISTENT);
    await lease.sandbox.run("true", { session: "s1" });
    expect((await lease.sandbox.sessions.list()).map(({ name }) => name)).toEqual(["s1"]);
    for (const ref of await bench.existing()) await bench.driver.destroy(ref);
    expect(await lease.sandbox.sessions.list()).toEqual([]);
    await expect(lease.sandbox.sessions.remove("s1")).rejects.toMatchObject({ code: "session-not-found" });
  });
});

describe("a loss", () => {
  test("that does not exclude that the command ran is not followed by a second try", async () => {
    for (const facts of [{}, { mayHaveRun: true }]) {
      const { lifecycle, asked } = createBench({
        decorate: (driver) => withSpawn(driver, () => Promise.reject(new HoldfastError("sandbox-lost", "gone", { facts }))),
      });
      const lease = await lifecycle.acquire(owner, PERSISTENT);
      await expect(lease.sandbox.run("true")).rejects.toMatchObject({ code: "sandbox-lost" });
      expect(asked).toEqual(["create t1", "connect t1"]);
    }
  });

  test("of the replacement, too, is an error", async () => {
    let spawns = 0;
    const { lifecycle, asked } = createBench({
      decorate: (driver) =>
        withSpawn(driver, () => {
          spawns++;
          return Promise.reject(new HoldfastError("sandbox-lost", "gone", { facts: { mayHaveRun: false } }));
        }),
    });
    const lease = await lifecycle.acquire(owner, FLEETING);
    await expect(lease.sandbox.run("true")).rejects.toMatchObject({ code: "sandbox-lost" });
    expect(spawns).toBe(2);
    expect(asked).toEqual(["create t1", "connect t1", "destroy t1", "create t1", "connect t1", "destroy t1"]);
  });

  test("is no reason to give a second command half of a stream, but an untouched stream is whole", async () => {
    const bench = createBench();
    const lease = await bench.lifecycle.acquire(owner, PERSISTENT);
    const lose = async () => {
      for (const ref of await bench.existing()) await bench.driver.destroy(ref);
    };
    const begun = Readable.from(["one\n", "two\n"]);
    begun.read();
    await lose();
    await expect(lease.sandbox.run("cat", { stdin: begun })).rejects.toMatchObject({ code: "sandbox-lost" });
    await lease.sandbox.run("true");
    await lose();
    const whole = Readable.from(["one\n", "two\n"]);
    expect(await lease.sandbox.run("cat", { stdin: whole })).toMatchObject({ output: "one\ntwo\n", replaced: { lost: expect.any(Array) } });
  });

  test("through a forced removal of our own is not repaired under the call", async () => {
    const bench = createBench();
    const lease = await bench.lifecycle.acquire(owner, PERSISTENT);
    const call = await openCall(lease);
    await lease.cleanup({ forceRemove: true });
    await expect(call.result).rejects.toMatchObject({ code: "sandbox-lost" });
    expect(bench.asked.filter((what) => what === "create t1")).toHaveLength(1);
    // Asked for by the holder, so there is nothing to tell.
    expect((await lease.sandbox.run("true")).replaced).toBeNull();
  });
});

test("a call that a forced removal meets before its command began is not carried over to a new sandbox", async () => {
  const gate = createGate();
  const bench = createBench({
    decorate: (driver) => ({
      ...driver,
      async connect(...args) {
        const connection = await driver.connect(...args);
        return {
          ...connection,
          async spawn(...spawnArgs) {
            await gate.pass();
            return connection.spawn(...spawnArgs);
          },
        };
      },
    }),
  });
  const lease = await bench.lifecycle.acquire(owner, PERSISTENT);
  const failed = expect(lease.sandbox.run("true")).rejects.toMatchObject({ code: "sandbox-lost" });
  await gate.reached;
  await bench.lifecycle.releaseTask(owner, { forceRemove: true });
  gate.open();
  await failed;
  expect(bench.asked.filter((what) => what === "create t1")).toHaveLength(1);
});

test("a command that a forced removal ends with a signal is a loss and not a result", async () => {
  const { promise: over, resolve: callIsOver } = Promise.withResolvers<void>();
  const { lifecycle } = createBench({
    decorate: (driver) => ({
      ...driver,
      async destroy(ref) {
        for (const { pid } of (await driver.activity?.(ref)) ?? []) process.kill(pid, "SIGTERM");
        await over;
        await driver.destroy(ref);
      },
    }),
  });
  const lease = await lifecycle.acquire(owner, PERSISTENT);
  const call = await openCall(lease);
  const removed = lease.cleanup({ forceRemove: true });
  await expect(call.result).rejects.toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: true } });
  callIsOver();
  await removed;
});

test("a command that a signal ends is a result", async () => {
  const { lifecycle } = createBench();
  const lease = await lifecycle.acquire(owner, PERSISTENT);
  expect(await lease.sandbox.run("kill -KILL $$")).toMatchObject({ exitCode: 137, signal: "SIGKILL" });
});

test("a lease follows its sandbox over the end of a turn, and says that it is another one", async () => {
  const { lifecycle } = createBench();
  const lease = await lifecycle.acquire(owner, FLEETING);
  await lease.sandbox.run("true");
  await lifecycle.endTurn(owner);
  expect((await lease.sandbox.run("true")).replaced).not.toBeNull();
  await lease.cleanup();
  expect((await lease.sandbox.run("true")).replaced).toBeNull();
});

test("S20 what only looks is repeated in a new sandbox, although the lost one may have begun with it", async () => {
  let losses = 0;
  const { lifecycle, asked } = createBench({
    decorate: (driver) => ({
      ...driver,
      async connect(ref, options) {
        const connection = await driver.connect(ref, options);
        const files = connection.files ?? expect.fail("the driver has no files");
        const list: typeof files.list = async (path) => {
          if (losses++ > 0) return files.list(path);
          await driver.destroy(ref);
          throw new HoldfastError("sandbox-lost", "the connection was reset", { facts: { mayHaveRun: true } });
        };
        return { ...connection, files: { ...files, list } };
      },
    }),
  });
  const lease = await lifecycle.acquire(owner, PERSISTENT);
  expect(await lease.sandbox.sessions.list()).toEqual([]);
  expect(asked.filter((what) => what === "create t1")).toHaveLength(2);
});
