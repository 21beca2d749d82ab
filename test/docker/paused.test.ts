import { expect, test } from "vitest";
import { ENGINE_LIMIT_MS, testEngine } from "../helpers/engine.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { describeIf } from "../helpers/requirements.ts";
import { openCall } from "../services/lifecycle-bench.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";

describeEngines("a container that is paused", (engine) => {
  test(
    "S14 holds up a call, which goes on when it is woken",
    async () => {
      const bench = await engineBench(engine());
      const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
      const call = await openCall(lease);
      await bench.ask("pause", lease.sandbox.ref.id);
      call.finish();
      await bench.ask("unpause", lease.sandbox.ref.id);
      expect(await call.result).toMatchObject({ exitCode: 0, output: "running\n", restarted: false, replaced: null });
    },
    LONG,
  );

  test(
    "S14 is woken by the next process that wants it",
    async () => {
      const bench = await engineBench(engine());
      const first = await (await bench.process()).acquire(bench.owner(), containerSpec());
      const watcher = await first.sandbox.processes.start("sleep 600");
      await bench.ask("pause", first.sandbox.ref.id);
      const second = await (await bench.process()).acquire(bench.owner(), containerSpec());
      expect(second).toMatchObject({ origin: "found", sandbox: { ref: { id: first.sandbox.ref.id } } });
      expect(await second.sandbox.run("echo on")).toMatchObject({ output: "on\n", restarted: false, replaced: null });
      expect(await second.sandbox.processes.get(watcher.id)).toMatchObject({ state: "running" });
    },
    LONG,
  );
});

describeIf(["cc", "mmdebstrap", "dockerd"], "a container that stays paused", () => {
  test(
    "S14 does not keep a call beyond its timeout, and loses nothing",
    async () => {
      const bench = await engineBench(await testEngine());
      const clock = createManualClock();
      const lease = await bench.lifecycle(await bench.driver(), { clock }).acquire(bench.owner(), containerSpec());
      await lease.sandbox.run("echo kept >/tmp/kept");
      const running = Promise.withResolvers<void>();
      const failed = failureOf(lease.sandbox.run("echo running; sleep 600", { timeoutMs: 60_000, onOutput: () => running.resolve() }));
      await running.promise;
      await bench.ask("pause", lease.sandbox.ref.id);
      await clock.advance(60_000);
      expect(await failed).toMatchObject({
        code: "sandbox-lost",
        message: expect.stringContaining("it did not end a command in time"),
        facts: { mayHaveRun: true },
      });
      await bench.ask("unpause", lease.sandbox.ref.id);
      expect(await lease.sandbox.run("cat /tmp/kept")).toMatchObject({ output: "kept\n", restarted: false, replaced: null });
      // Its daemon has ended what nobody waited for any more.
      expect((await lease.sandbox.run("until ! pgrep sleep; do :; done")).exitCode).toBe(0);
      expect(await bench.containers()).toHaveLength(1);
    },
    ENGINE_LIMIT_MS,
  );
});
