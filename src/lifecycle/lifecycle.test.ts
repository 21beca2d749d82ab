import { describe, expect, onTestFinished, test } from "vitest";
import { sandboxSpec } from "../../test/helpers/sandbox-spec.ts";
import { createBench, createGate, FLEETING, openCall, ownerOf, PERSISTENT } from "../../test/services/lifecycle-bench.ts";
import { HoldfastError } from "../base/errors.ts";

const owner = ownerOf("t1");
const other = ownerOf("t2");

describe("acquiring", () => {
  test("S15 fifty at once in one process end up in one sandbox, made once", async () => {
    const { lifecycle, asked } = createBench();
    const leases = await Promise.all(Array.from({ length: 50 }, () => lifecycle.acquire(owner, PERSISTENT)));
    expect(asked).toEqual(["create t1", "connect t1"]);
    expect(new Set(leases.map(({ sandbox }) => sandbox.ref.id)).size).toBe(1);
    expect(leases[0]?.origin).toBe("created");
  });

  test("says whether the sandbox was there before", async () => {
    const { lifecycle, anotherLifecycle, asked } = createBench();
    expect((await lifecycle.acquire(owner, PERSISTENT)).origin).toBe("created");
    expect((await anotherLifecycle().acquire(owner, PERSISTENT)).origin).toBe("found");
    expect(asked).toEqual(["create t1", "connect t1", "connect t1"]);
  });

  test("says whether the sandbox was made with another spec", async () => {
    const { lifecycle, anotherLifecycle } = createBench();
    expect((await lifecycle.acquire(owner, PERSISTENT)).drift).toEqual([]);
    const changed = sandboxSpec({ network: false });
    expect((await lifecycle.acquire(owner, changed)).drift).not.toEqual([]);
    expect((await anotherLifecycle().acquire(owner, changed)).drift).not.toEqual([]);
  });

  test("a creation that failed is forgotten", async () => {
    let failures = 0;
    const { lifecycle } = createBench({
      decorate: (driver) => ({
        ...driver,
        create: (...args) =>
          failures++ < 2 ? Promise.reject(new HoldfastError("sandbox-create-failed", "no room")) : driver.create(...args),
      }),
    });
    const both = await Promise.allSettled([lifecycle.acquire(owner, PERSISTENT), lifecycle.acquire(owner, PERSISTENT)]);
    expect(both).toEqual(Array(2).fill(expect.objectContaining({ reason: expect.objectContaining({ code: "sandbox-create-failed" }) })));
    expect(failures).toBe(1);
    // At once, in the same breath as the failure.
    const retried = lifecycle.acquire(owner, PERSISTENT).catch(() => lifecycle.acquire(owner, PERSISTENT));
    expect((await (await retried).sandbox.run("echo there")).output).toBe("there\n");
  });

  test("of those who wait for one creation, one that gives up does not take it from the others", async () => {
    const gate = createGate();
    const { lifecycle, asked } = createBench({
      decorate: (driver) => ({
        ...driver,
        async create(...args) {
          await gate.pass();
          return driver.create(...args);
        },
      }),
    });
    const impatient = new AbortController();
    const given = lifecycle.acquire(owner, PERSISTENT, { signal: impatient.signal });
    const patient = lifecycle.acquire(owner, PERSISTENT);
    await gate.reached;
    impatient.abort();
    await expect(given).rejects.toMatchObject({ code: "aborted" });
    gate.open();
    expect((await patient).origin).toBe("created");
    expect(asked).toEqual(["create t1", "connect t1"]);
  });

  test("a creation that nobody waits for any more is cancelled, and the next acquirer starts a new one", async () => {
    const [begun, windingDown] = [createGate(), createGate()];
    let creations = 0;
    const { lifecycle } = createBench({
      decorate: (driver) => ({
        ...driver,
        async create(forOwner, spec, options = {}) {
          if (++creations > 1) return driver.create(forOwner, spec, options);
          options.signal?.addEventListener("abort", () => begun.open());
          await begun.pass();
          await windingDown.pass();
          throw new HoldfastError("aborted", "stopped");
        },
      }),
    });
    const impatient = new AbortController();
    const given = lifecycle.acquire(owner, PERSISTENT, { signal: impatient.signal });
    await begun.reached;
    impatient.abort();
    await expect(given).rejects.toMatchObject({ code: "aborted" });
    const next = lifecycle.acquire(owner, PERSISTENT);
    await windingDown.reached;
    expect(creations).toBe(1);
    windingDown.open();
    expect((await next).origin).toBe("created");
    expect(creations).toBe(2);
  });

  test("a sandbox that does not persist and cannot be connected to is not left behind", async () => {
    const { lifecycle, existing } = createBench({
      decorate: (driver) => ({ ...driver, connect: () => Promise.reject(new HoldfastError("backend-broken", "no line")) }),
    });
    await expect(lifecycle.acquire(owner, FLEETING)).rejects.toMatchObject({ code: "backend-broken" });
    expect(await existing()).toEqual([]);
    await expect(lifecycle.acquire(owner, PERSISTENT)).rejects.toMatchObject({ code: "backend-broken" });
    expect(await existing()).toHaveLength(1);
  });

  test("a sandbox that is removed between looking and connecting is made again", async () => {
    const { lifecycle, anotherLifecycle, driver, asked } = createBench({
      decorate: (inner) => ({
        ...inner,
        async list(...args) {
          const refs = await inner.list(...args);
          for (const ref of refs) await inner.destroy(ref);
          return refs;
        },
      }),
    });
    await lifecycle.acquire(owner, PERSISTENT);
    const lease = await anotherLifecycle().acquire(owner, PERSISTENT);
    expect(lease.origin).toBe("created");
    expect((await lease.sandbox.run("true")).exitCode).toBe(0);
    expect(asked.filter((what) => what.startsWith("create"))).toHaveLength(2);
    expect(driver.name).toBe("memory");
  });

  test("a sandbox that is removed before it can be connected to is made once more, and not a third time", async () => {
    let removals = 1;
    const { lifecycle, asked } = createBench({
      decorate: (driver) => ({
        ...driver,
        async connect(...args) {
          if (removals-- > 0) await driver.destroy(args[0]);
          return driver.connect(...args);
        },
      }),
    });
    expect((await (await lifecycle.acquire(owner, PERSISTENT)).sandbox.run("echo there")).output).toBe("there\n");
    removals = 2;
    await expect(lifecycle.acquire(other, PERSISTENT)).rejects.toMatchObject({ code: "sandbox-create-failed" });
    expect(asked.filter((what) => what.startsWith("create"))).toEqual(["create t1", "create t1", "create t2", "create t2"]);
  });

  test("S16 a sandbox that does not persist is never looked for", async () => {
    let looks = 0;
    const { lifecycle } = createBench({
      decorate: (driver) => ({
        ...driver,
        list(...args) {
          looks++;
          return driver.list(...args);
        },
      }),
    });
    expect((await lifecycle.acquire(owner, FLEETING)).origin).toBe("created");
    expect(looks).toBe(0);
  });

  test("the signal of an opening stays silent after it has succeeded", async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const { lifecycle } = createBench({
      decorate: (driver) => ({
        ...driver,
        connect(ref, options = {}) {
          signals.push(options.signal);
          return driver.connect(ref, options);
        },
      }),
    });
    await lifecycle.acquire(owner, PERSISTENT);
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
  });

  test("S14 a failing look costs a warning, not the sandbox", async () => {
    const { lifecycle, logged } = createBench({
      decorate: (driver) => ({ ...driver, list: () => Promise.reject(new HoldfastError("state-unreadable", "no list")) }),
    });
    expect((await (await lifecycle.acquire(owner, PERSISTENT)).sandbox.run("echo there")).output).toBe("there\n");
    expect(logged).toContainEqual(expect.objectContaining({ level: "warn", fields: expect.objectContaining({ error: "no list" }) }));
  });

  test("S14 of several sandboxes a running one is taken, then the oldest", async () => {
    const bench = createBench({
      decorate: (driver) => ({
        ...driver,
        async list(filter) {
          const [ref] = await driver.list(filter);
          if (!ref) return [];
          return [{ ...ref, id: "stopped", createdAt: 1, state: "stopped" }, { ...ref, id: "younger", createdAt: ref.createdAt + 1 }, ref];
        },
      }),
    });
    const made = await bench.lifecycle.acquire(owner, PERSISTENT);
    const found = await bench.anotherLifecycle().acquire(owner, PERSISTENT);
    expect(found.sandbox.ref.id).toBe(made.sandbox.ref.id);
    expect(bench.asked).toEqual(["create t1", "connect t1", "connect t1"]);
  });
});

describe("cleaning up", () => {
  test("S21 in persist mode only the handle goes, and the next use finds the sandbox again", async () => {
    const { lifecycle, asked } = createBench();
    const lease = await lifecycle.acquire(owner, PERSISTENT);
    await lease.sandbox.run("export KEPT=yes; cd /usr");
    await lease.cleanup();
    expect(asked).toEqual(["create t1", "connect t1"]);
    const next = await lifecycle.acquire(owner, PERSISTENT);
    expect(next.origin).toBe("found");
    expect((await next.sandbox.run('echo "$KEPT $PWD"')).output).toBe("yes /usr\n");
    // The lease that was cleaned up finds it just as well.
    expect(await lease.sandbox.run("echo $KEPT")).toMatchObject({ output: "yes\n", replaced: null });
  });

  test("S21 without persistence the sandbox is removed, and forceRemove removes any", async () => {
    const { lifecycle, existing } = createBench();
    await (await lifecycle.acquire(owner, FLEETING)).cleanup();
    expect(await existing()).toEqual([]);
    const persistent = await lifecycle.acquire(owner, PERSISTENT);
    await persistent.cleanup({ forceRemove: true });
    expect(await existing()).toEqual([]);
  });

  test("S21 forceRemove also removes a sandbox whose handle was dropped before", async () => {
    const { lifecycle, existing } = createBench();
    const lease = await lifecycle.acquire(owner, PERSISTENT);
    await lease.cleanup();
    expect(await existing()).toHaveLength(1);
    await lease.cleanup({ forceRemove: true });
    expect(await existing()).toEqual([]);
  });

  test("S24 twice, or for a sandbox that never started, is harmless", async () => {
    const { lifecycle, asked } = createBench();
    for (const options of [{}, { forceRemove: true }]) await lifecycle.releaseTask(owner, options);
    await lifecycle.endTurn(owner);
    expect(asked).toEqual([]);
    const lease = await lifecycle.acquire(owner, FLEETING);
    await Promise.all([lease.cleanup(), lease.cleanup(), lease.cleanup({ forceRemove: true }), lifecycle.endTurn(owner)]);
    await lease.cleanup();
    expect(asked.filter((what) => what === "destroy t1")).toHaveLength(1);
  });

  test("S25 a released task leaves the registry before the slow work, so others are not held up", async () => {
    const gate = createGate();
    const { lifecycle, asked } = createBench({
      decorate: (driver) => ({
        ...driver,
        async destroy(...args) {
          await gate.pass();
          await driver.destroy(...args);
        },
      }),
    });
    const lease = await lifecycle.acquire(owner, FLEETING);
    const before = lease.sandbox.ref.id;
    const released = lifecycle.releaseTask(owner);
    await gate.reached;
    expect((await (await lifecycle.acquire(other, FLEETING)).sandbox.run("echo served")).output).toBe("served\n");
    // The backend would hand out the sandbox that is about to go, so a use of the same task waits for that.
    const again = lifecycle.acquire(owner, FLEETING);
    expect(asked.filter((what) => what === "create t1")).toHaveLength(1);
    gate.open();
    await released;
    expect((await again).sandbox.ref.id).not.toBe(before);
  });

  test("S24 a removal under way is waited for and not begun a second time", async () => {
    const gate = createGate();
    let gone = false;
    const { lifecycle, asked } = createBench({
      decorate: (driver) => ({
        ...driver,
        async destroy(ref) {
          await gate.pass();
          await driver.destroy(ref);
          gone = true;
        },
      }),
    });
    const lease = await lifecycle.acquire(owner, FLEETING);
    const cleanups = [{}, {}, { forceRemove: true }].map(async (options) => {
      await lease.cleanup(options);
      return gone;
    });
    await gate.reached;
    gate.open();
    expect(await Promise.all(cleanups)).toEqual([true, true, true]);
    expect(asked.filter((what) => what === "destroy t1")).toHaveLength(1);
  });

  test("S25 those who wait for a sandbox that is being opened get it, unless it is removed by force: then they get another", async () => {
    for (const forceRemove of [false, true]) {
      const gate = createGate();
      const { lifecycle, asked } = createBench({
        decorate: (driver) => ({
          ...driver,
          async create(...args) {
            await gate.pass();
            return driver.create(...args);
          },
        }),
      });
      const acquired = lifecycle.acquire(owner, FLEETING);
      await gate.reached;
      const released = lifecycle.releaseTask(owner, { forceRemove });
      gate.open();
      const [lease] = await Promise.all([acquired, released]);
      expect(await lease.sandbox.run("echo there")).toMatchObject({ output: "there\n", replaced: null });
      expect(asked.filter((what) => what === "destroy t1")).toHaveLength(forceRemove ? 1 : 0);
    }
  });

  test("S25 releasing honours persist mode unless forced", async () => {
    const { lifecycle, existing } = createBench();
    await lifecycle.acquire(owner, PERSISTENT);
    await lifecycle.releaseTask(owner);
    expect(await existing()).toHaveLength(1);
    await lifecycle.releaseTask(owner, { forceRemove: true });
    expect(await existing()).toEqual([]);
  });

  test.each([true, false])("S26 the end of a turn leaves a sandbox alone that keeps its files (persists: %j)", async (persist) => {
    const { lifecycle, existing, asked } = createBench();
    const spec = { ...PERSISTENT, persist };
    await lifecycle.acquire(owner, spec);
    await lifecycle.endTurn(owner);
    expect(await existing()).toHaveLength(1);
    // Left alone altogether: the line is still open.
    await lifecycle.acquire(owner, spec);
    expect(asked.filter((what) => what === "connect t1")).toHaveLength(1);
    await lifecycle.close();
    expect(await existing()).toHaveLength(persist ? 1 : 0);
  });

  test("S21 S26 the end of a turn lets go of a sandbox that keeps no files, which is removed unless it persists", async () => {
    const { lifecycle, existing, lines } = createBench();
    await lifecycle.acquire(owner, { ...FLEETING, persist: true });
    await lifecycle.acquire(other, FLEETING);
    await Promise.all([lifecycle.endTurn(owner), lifecycle.endTurn(other)]);
    expect((await existing()).map((ref) => ref.owner.task)).toEqual(["t1"]);
    expect(lines).toEqual({ opened: 2, closed: 2 });
  });

  test("giving a lease back ends nothing, and the lease is then of no more use", async () => {
    const { lifecycle, existing } = createBench();
    const lease = await lifecycle.acquire(owner, FLEETING);
    await lease[Symbol.asyncDispose]();
    await lease[Symbol.asyncDispose]();
    expect(await existing()).toHaveLength(1);
    await expect(lease.sandbox.run("true")).rejects.toMatchObject({ code: "closed" });
  });

  test("every removal is logged with its reason", async () => {
    const { lifecycle, logged } = createBench();
    await lifecycle.acquire(owner, FLEETING);
    await lifecycle.endTurn(owner);
    await lifecycle.acquire(owner, FLEETING);
    await lifecycle.releaseTask(owner);
    await lifecycle.acquire(owner, PERSISTENT);
    await lifecycle.releaseTask(owner, { forceRemove: true });
    const removals = logged.filter(({ message }) => message === "the sandbox was removed");
    expect(removals.map(({ fields }) => [fields.task, fields.reason])).toEqual([
      ["t1", "turn ended"],
      ["t1", "released"],
      ["t1", "asked for"],
    ]);
  });
});

describe("cleaning up under a running call", () => {
  test("waits for the last call", async () => {
    const { lifecycle, existing } = createBench();
    const lease = await lifecycle.acquire(owner, FLEETING);
    const [first, second] = [await openCall(lease), await openCall(lease)];
    const ended = lifecycle.endTurn(owner);
    const released = lifecycle.releaseTask(owner);
    first.finish();
    expect((await first.result).exitCode).toBe(0);
    expect(await existing()).toHaveLength(1);
    second.finish();
    expect((await second.result).exitCode).toBe(0);
    await Promise.all([ended, released]);
    expect(await existing()).toEqual([]);
  });

  test("is called off when the sandbox is used again", async () => {
    const { lifecycle, existing } = createBench();
    const lease = await lifecycle.acquire(owner, FLEETING);
    await lease.sandbox.run("export KEPT=yes");
    const stray = await openCall(lease);
    const ended = lifecycle.endTurn(owner);
    const next = await lifecycle.acquire(owner, FLEETING);
    await ended;
    stray.finish();
    await stray.result;
    expect(await next.sandbox.run("echo $KEPT")).toMatchObject({ output: "yes\n", replaced: null });
    await lifecycle.endTurn(owner);
    expect(await existing()).toEqual([]);
  });

  test("does not wait when it is forced: the calls reject, and nothing is repeated", async () => {
    const { lifecycle, existing, lines } = createBench();
    const lease = await lifecycle.acquire(owner, PERSISTENT);
    const call = await openCall(lease);
    const waiting = lifecycle.releaseTask(owner);
    await lifecycle.releaseTask(owner, { forceRemove: true });
    await expect(call.result).rejects.toMatchObject({ code: "sandbox-lost" });
    await waiting;
    expect(await existing()).toEqual([]);
    expect(lines).toEqual({ opened: 1, closed: 1 });
  });

  test("S23 is waited for, with a limit", async () => {
    const { lifecycle, existing } = createBench();
    expect(await lifecycle.waitForCleanup(0)).toBe(true);
    const lease = await lifecycle.acquire(owner, FLEETING);
    const call = await openCall(lease);
    const ended = lifecycle.endTurn(owner);
    expect(await lifecycle.waitForCleanup(1)).toBe(false);
    const waited = lifecycle.waitForCleanup(60_000);
    // One that begins during the wait counts as well.
    const later = await openCall(await lifecycle.acquire(other, FLEETING));
    const laterEnded = lifecycle.endTurn(other);
    call.finish();
    await ended;
    later.finish();
    expect(await waited).toBe(true);
    expect(await existing()).toEqual([]);
    await laterEnded;
    expect(await lifecycle.waitForCleanup(0)).toBe(true);
  });
});

describe("a removal that fails", () => {
  test("reaches whoever asked, and is tried again by the idle reaper and at the end", async () => {
    let failures = 0;
    const { lifecycle, existing } = createBench({
      decorate: (driver) => ({
        ...driver,
        destroy: (...args) => (failures++ < 2 ? Promise.reject(new HoldfastError("backend-broken", "not now")) : driver.destroy(...args)),
      }),
    });
    onTestFinished(async () => void (await lifecycle.close()));
    await lifecycle.acquire(owner, FLEETING);
    await expect(lifecycle.releaseTask(owner)).rejects.toMatchObject({ code: "backend-broken" });
    expect(await lifecycle.idleReaper.runOnce()).toMatchObject({ examined: 1, removed: 0 });
    expect(await existing()).toHaveLength(1);
    expect(await lifecycle.idleReaper.runOnce()).toMatchObject({ examined: 1, removed: 1 });
    expect(await existing()).toEqual([]);
    expect(await lifecycle.idleReaper.runOnce()).toMatchObject({ examined: 0 });
  });

  test("is not tried again while the sandbox is in use", async () => {
    let failures = 0;
    const { lifecycle, existing } = createBench({
      decorate: (driver) => ({
        ...driver,
        destroy: (...args) => (failures++ < 1 ? Promise.reject(new HoldfastError("backend-broken", "not now")) : driver.destroy(...args)),
      }),
    });
    await lifecycle.acquire(owner, FLEETING);
    await expect(lifecycle.endTurn(owner)).rejects.toMatchObject({ code: "backend-broken" });
    await lifecycle.acquire(owner, FLEETING);
    expect(await lifecycle.idleReaper.runOnce()).toMatchObject({ examined: 1, removed: 0 });
    expect(await existing()).toHaveLength(1);
    await lifecycle.endTurn(owner);
    expect(await existing()).toEqual([]);
  });

  test("is no reason to remove by force later on", async () => {
    let failures = 0;
    const { lifecycle, existing } = createBench({
      decorate: (driver) => ({
        ...driver,
        destroy: (...args) => (failures++ < 1 ? Promise.reject(new HoldfastError("backend-broken", "not now")) : driver.destroy(...args)),
      }),
    });
    const lease = await lifecycle.acquire(owner, PERSISTENT);
    await expect(lease.cleanup({ forceRemove: true })).rejects.toMatchObject({ code: "backend-broken" });
    expect(await lifecycle.idleReaper.runOnce()).toMatchObject({ examined: 0 });
    expect(await lifecycle.close()).toEqual({ left: [] });
    expect(await existing()).toHaveLength(1);
  });
});
