import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TestEngine } from "../helpers/engine.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { cliBench } from "./cli-bench.ts";
import { containerSpec, describeEngines, type EngineBench, engineBench, LONG } from "./engine-bench.ts";

const limits = { cpu: 0.5, memoryMb: 96, diskMb: 64, pids: 100, strict: false };

const NO_DISK = "unlimited, because the engine cannot limit it";

const warnings = ({ logged }: EngineBench) => logged.filter(({ level }) => level === "warn").map(({ message }) => message);

/** The same engine, by a client that keeps a list of what it was asked for. */
async function recorded(engine: TestEngine) {
  const place = await temporaryDirectory();
  onTestFinished(() => place[Symbol.asyncDispose]());
  const [binary, list] = [join(place.path, "engine"), join(place.path, "list")];
  await writeFile(binary, `#!/bin/sh\necho "$*" >>'${list}'\nexec ${engine.binary} "$@"\n`, { mode: 0o755 });
  const runs = async () => (await readFile(list, "utf8")).split("\n").filter((line) => line.startsWith("run "));
  return {
    engine: { ...engine, binary },
    /** For each container that was asked for, whether with a limit for its disk. */
    runs: async () => (await runs()).map((line) => line.includes("--storage-opt size=64m")),
  };
}

/** Cores, bytes and processes, by either version of control groups. */
const KERNEL = `cd /sys/fs/cgroup
if [ -e cgroup.controllers ]; then cat cpu.max memory.max pids.max
else echo "$(cat cpu/cpu.cfs_quota_us) $(cat cpu/cpu.cfs_period_us)"; cat memory/memory.limit_in_bytes pids/pids.max; fi`;

describeEngines("limits of a container", (engine) => {
  test(
    "S7 are in force by what the engine says and by what the kernel says; without them there are none",
    async () => {
      const bench = await engineBench(engine());
      const driver = await bench.driver();
      const lifecycle = bench.lifecycle(driver);
      const { sandbox } = await lifecycle.acquire(bench.owner(), containerSpec({ limits: { ...limits, diskMb: 0, strict: true } }));
      expect(await driver.describe?.(sandbox.ref)).toMatchObject({
        status: "running",
        limits: { cpu: "0.5 cores", memory: "96 MB", disk: "unlimited", processes: "100" },
        weakened: [],
      });
      const { stdout } = await sandbox.run(KERNEL);
      const [quota, period, memory, pids] = stdout.split(/\s+/).map(Number);
      expect([Number(quota) / Number(period), memory, pids]).toEqual([0.5, 96 * 1024 ** 2, 100]);

      const free = containerSpec({ limits: { cpu: 0, memoryMb: 0, diskMb: 0, pids: 0, strict: true } });
      const other = await lifecycle.acquire(bench.owner("free"), free);
      expect((await driver.describe?.(other.sandbox.ref))?.limits).toMatchObject({
        cpu: "unlimited",
        memory: "unlimited",
        disk: "unlimited",
      });
      expect(warnings(bench)).toEqual([]);
    },
    LONG,
  );

  test(
    "S7 a disk that cannot be limited is said, and the sandbox works; the engine is asked once, whoever makes the next one",
    async () => {
      const { engine: client, runs } = await recorded(engine());
      const bench = await engineBench(client);
      const driver = await bench.driver();
      const { sandbox } = await bench.lifecycle(driver).acquire(bench.owner(), containerSpec({ limits }));
      const warning =
        "the disk cannot be limited to 64 MB: the engine's storage has no such limit, so the sandbox has none (terminal.container_disk: 0 asks for none)";
      expect(warnings(bench)).toEqual([warning]);
      expect((await sandbox.run("echo works")).stdout).toBe("works\n");
      expect((await driver.describe?.(sandbox.ref))?.limits).toMatchObject({ memory: "96 MB", disk: NO_DISK });
      expect(await runs()).toEqual([true, false]);

      await (await bench.process()).acquire(bench.owner("other"), containerSpec({ limits }));
      expect(await runs()).toEqual([true, false, false]);
      expect(warnings(bench)).toEqual([warning, warning]);
      expect(await bench.containers()).toHaveLength(2);
    },
    LONG,
  );

  test(
    "S7 with strict limits it is refused instead, every time, and nothing is left behind",
    async () => {
      const { engine: client, runs } = await recorded(engine());
      const bench = await engineBench(client);
      const spec = containerSpec({ limits: { ...limits, strict: true } });
      for (let time = 0; time < 2; time++) {
        expect(await failureOf((await bench.process()).acquire(bench.owner(), spec))).toMatchObject({
          code: "sandbox-create-failed",
          message: expect.stringMatching(/^the disk cannot be limited to 64 MB: .* terminal.container_limits is strict$/),
          hint: "set terminal.container_disk to 0, or terminal.container_limits to lenient",
        });
        expect(await bench.containers()).toEqual([]);
        expect(existsSync(bench.placeOf())).toBe(false);
      }
      expect(await runs()).toEqual([true]);
    },
    LONG,
  );

  test(
    "S7 on the command line container_limits decides whether a limit that cannot be had is an error",
    async () => {
      const { run, exec, env, cli } = await cliBench(engine(), { TERMINAL_CONTAINER_DISK: "64", TERMINAL_CONTAINER_LIMITS: "strict" });
      expect(await run("exec", "true")).toMatchObject({
        status: 125,
        stdout: "",
        stderr: expect.stringMatching(
          /the disk cannot be limited to 64 MB.*\nhint: set terminal.container_disk to 0, or terminal.container_limits/,
        ),
      });
      const lenient = await cli.run(["exec", "-c", "terminal.container_limits=lenient", "echo works"], { env });
      expect(lenient).toMatchObject({
        status: 0,
        stdout: "works\n",
        stderr: expect.stringMatching(/^warning: the disk cannot be limited/),
      });
      // It is there now, as it is.
      expect(await exec("--", "echo works")).toBe("works");
    },
    LONG,
  );

  test(
    "S50 a default that the engine cannot keep is told by inspect and doctor, not when a container is made",
    async () => {
      const { run, cli, env } = await cliBench(engine());
      const { TERMINAL_CONTAINER_DISK: _, ...quiet } = env;
      expect(await cli.run(["exec", "echo works"], { env: quiet })).toEqual({ status: 0, stdout: "works\n", stderr: "" });
      expect((await cli.run(["sandbox", "inspect"], { env: quiet })).stdout).toContain(`disk ${NO_DISK}`);
      const told = "new sandboxes have no limit of their disk, because the engine's storage has none";
      expect((await cli.run(["doctor"], { env: quiet })).stdout).toContain(told);
      // Who asks for none misses nothing.
      expect((await run("doctor")).stdout).not.toContain(told);
      // Who asks for one hears that there is none, also when it is as large as the default.
      const asked = await cli.run(["-c", "terminal.container_disk=51200", "exec", "--task", "other", "true"], { env: quiet });
      expect(asked.stderr).toMatch(/^warning: the disk cannot be limited to 51200 MB/);
    },
    LONG,
  );
});
