import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { withLimits } from "../../src/sandbox/with-limits.ts";
import { ENGINE_LIMIT_MS, type PrivateEngine, privateEngine } from "../helpers/engine.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { describeIf } from "../helpers/requirements.ts";
import { containerSpec, engineBench, LONG } from "./engine-bench.ts";

const ENDED = expect.objectContaining({ code: expect.stringMatching(/^(operation-timeout|engine-not-responding)$/) });

describeIf(["cc", "mmdebstrap", "dockerd", "mount"], "an engine in trouble", () => {
  let engine: PrivateEngine;
  beforeAll(async () => {
    engine = await privateEngine();
  }, ENGINE_LIMIT_MS);
  afterAll(() => engine[Symbol.asyncDispose](), ENGINE_LIMIT_MS);

  test(
    "S19 an engine that is stopped and started under a sandbox: the next call starts it, and says so",
    async () => {
      const bench = await engineBench(engine);
      const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
      await lease.sandbox.run("echo kept >/var/kept");
      await engine.stop();
      await engine.start();
      expect(await lease.sandbox.run("cat /var/kept")).toMatchObject({ output: "kept\n", restarted: true, replaced: null });
      expect(await bench.containers()).toHaveLength(1);
    },
    LONG,
  );

  test(
    "S14 a paused container is woken, and a renamed one is still found",
    async () => {
      const bench = await engineBench(engine);
      const driver = await bench.driver();
      const ref = await driver.create(bench.owner(), containerSpec());
      await bench.ask("rename", ref.id, `${bench.owner().install}-renamed`);
      await bench.ask("pause", ref.id);
      await using connection = await driver.connect(ref);
      expect(connection.restarted).toBe(false);
      const { sandbox } = await (await bench.process()).acquire(bench.owner(), containerSpec());
      expect(sandbox.ref.id).toBe(ref.id);
      expect(await bench.containers()).toMatchObject([{ id: ref.id, state: "running" }]);
    },
    LONG,
  );

  test(
    "S2 S14 of an engine that hangs, every operation ends within its limit, and calls in a sandbox go on",
    async () => {
      const bench = await engineBench(engine);
      const plain = await bench.driver();
      const timeMs = { list: 1000, connect: 1000, create: 1000, destroy: 1000 };
      const driver = withLimits(plain, { clock: systemClock, log: silentLogger, limits: { timeMs } });
      const lease = await bench.lifecycle(plain).acquire(bench.owner(), containerSpec());
      await lease.sandbox.run("true");
      await engine.freeze();
      try {
        const failures = await Promise.all([
          failureOf(driver.list({ install: bench.owner().install })),
          failureOf(driver.create(bench.owner("other"), containerSpec())),
          failureOf(driver.connect(lease.sandbox.ref)),
          failureOf(driver.destroy(lease.sandbox.ref)),
        ]);
        expect(failures).toEqual([ENDED, ENDED, ENDED, ENDED]);
        expect((await lease.sandbox.run("echo on")).output).toBe("on\n");
        // Neither does finding it need the engine.
        const near = await plain.attach?.(bench.owner());
        expect(near?.ref.id).toBe(lease.sandbox.ref.id);
        await near?.connection[Symbol.asyncDispose]();
      } finally {
        engine.thaw();
      }
      expect(await bench.containers()).toMatchObject([{ id: lease.sandbox.ref.id, state: "running" }]);
    },
    LONG,
  );
});
