import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TestEngine } from "../helpers/engine.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";

function testFinding(engine: () => TestEngine): void {
  test("S14 a running container is found, neither started nor made again", async () => {
    const bench = await engineBench(engine());
    const first = await (await bench.process()).acquire(bench.owner(), containerSpec());
    const startedAt = async () => bench.ask("inspect", "--format", "{{.State.StartedAt}}", first.sandbox.ref.id);
    const before = await startedAt();
    const second = await (await bench.process()).acquire(bench.owner(), containerSpec());
    expect(second).toMatchObject({ origin: "found", drift: [], sandbox: { ref: { id: first.sandbox.ref.id } } });
    expect((await second.sandbox.run("true")).restarted).toBe(false);
    expect(await startedAt()).toBe(before);
    expect(await bench.containers()).toHaveLength(1);
  });

  test(
    "S14 S19 one that exited is started: files are there, processes are not, and the result says so once",
    async () => {
      const bench = await engineBench(engine());
      const first = await (await bench.process()).acquire(bench.owner(), containerSpec());
      await first.sandbox.run("echo kept >/var/kept; cd /usr; export A=b");
      await first.sandbox.processes.start("sleep 600");
      await bench.ask("kill", first.sandbox.ref.id);
      await bench.ask("wait", first.sandbox.ref.id);
      const second = await (await bench.process()).acquire(bench.owner(), containerSpec());
      const result = await second.sandbox.run("cat /var/kept; pwd; echo $A");
      expect(result).toMatchObject({ output: "kept\n/usr\nb\n", restarted: true, replaced: null });
      expect(second.sandbox.ref.id).toBe(first.sandbox.ref.id);
      expect((await second.sandbox.processes.list()).filter(({ state }) => state === "running")).toEqual([]);
      expect((await second.sandbox.run("pgrep sleep")).exitCode).toBe(1);
      expect((await second.sandbox.run("true")).restarted).toBe(false);
    },
    LONG,
  );

  test(
    "S19 a container that stops under its holder is started by the next call",
    async () => {
      const bench = await engineBench(engine());
      const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
      await lease.sandbox.run("echo kept >/var/kept");
      await bench.ask("stop", "-t", "5", lease.sandbox.ref.id);
      expect(await lease.sandbox.run("cat /var/kept")).toMatchObject({ output: "kept\n", restarted: true, replaced: null });
      expect(await bench.containers()).toHaveLength(1);
    },
    LONG,
  );

  test(
    "S14 one that vanishes between looking and opening is made anew",
    async () => {
      const bench = await engineBench(engine());
      const spec = containerSpec();
      const plain = await bench.driver();
      const old = await plain.create(bench.owner(), spec);
      await bench.ask("stop", "-t", "0", old.id);
      let vanished = false;
      const driver: typeof plain = {
        ...plain,
        async connect(ref, options) {
          if (!vanished) await bench.ask("rm", "-f", ref.id);
          vanished = true;
          return await plain.connect(ref, options);
        },
      };
      const lease = await bench.lifecycle(driver).acquire(bench.owner(), spec);
      expect(lease.origin).toBe("created");
      expect(lease.sandbox.ref.id).not.toBe(old.id);
      expect((await lease.sandbox.run("echo here")).output).toBe("here\n");
      expect(bench.logged).toContainEqual(
        expect.objectContaining({ level: "warn", message: expect.stringContaining("was removed before") }),
      );
    },
    LONG,
  );

  test(
    "S14 one that cannot be started makes way for a fresh one, with a warning",
    async () => {
      const bench = await engineBench(engine());
      const first = await (await bench.process()).acquire(bench.owner(), containerSpec());
      const broken = first.sandbox.ref.id;
      await first.sandbox.run("echo kept >/workspace/kept");
      await bench.ask("stop", "-t", "0", broken);
      // Its daemon's directory is one of its mounts.
      await rm(join(bench.placeOf(), "run"), { recursive: true });
      const second = await (await bench.process()).acquire(bench.owner(), containerSpec());
      expect((await second.sandbox.run("cat /workspace/kept")).output).toBe("kept\n");
      const found = Object.fromEntries((await bench.containers()).map(({ id, name }) => [id, name]));
      expect(found).toEqual({ [broken]: expect.stringContaining("-broken-"), [second.sandbox.ref.id]: expect.any(String) });
      expect(bench.logged).toContainEqual(
        expect.objectContaining({ level: "warn", message: expect.stringContaining("cannot be started") }),
      );
      const third = await (await bench.process()).acquire(bench.owner(), containerSpec());
      expect(third.sandbox.ref.id).toBe(second.sandbox.ref.id);
    },
    LONG,
  );

  test(
    "S14 of several that match, a running one is taken and the others are left alone",
    async () => {
      const bench = await engineBench(engine());
      const driver = await bench.driver();
      const stopped = await driver.create(bench.owner(), containerSpec());
      await bench.ask("stop", "-t", "0", stopped.id);
      await bench.ask("rename", stopped.id, `${bench.owner().install}-aside`);
      const running = await driver.create(bench.owner(), containerSpec());
      expect(running.id).not.toBe(stopped.id);
      const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
      expect(lease.sandbox.ref.id).toBe(running.id);
      const states = Object.fromEntries((await bench.containers()).map(({ id, state }) => [id, state]));
      expect(states).toEqual({ [stopped.id]: "exited", [running.id]: "running" });
    },
    LONG,
  );

  test("S14 a container of somebody else with our name is neither used nor touched", async () => {
    const bench = await engineBench(engine());
    const driver = await bench.driver();
    const ours = await driver.create(bench.owner(), containerSpec());
    const name = (await bench.containers())[0]?.name ?? "";
    await driver.destroy(ours);
    const foreign = await bench.ask("create", "--name", name, "--label", `holdfast-install=${bench.owner().install}`, "holdfast-test:base");
    await expect(driver.create(bench.owner(), containerSpec())).rejects.toMatchObject({
      code: "sandbox-create-failed",
      message: expect.stringContaining(name),
    });
    expect((await bench.containers()).map(({ id }) => id)).toEqual([foreign]);
  });
}

function testSharing(engine: () => TestEngine): void {
  test("S15 eight that start at once end up in one container, five times over", async () => {
    const bench = await engineBench(engine());
    for (let round = 0; round < 5; round++) {
      const owner = bench.owner(`round-${round}`);
      const processes = await Promise.all(Array.from({ length: 8 }, () => bench.process()));
      const leases = await Promise.all(processes.map((lifecycle) => lifecycle.acquire(owner, containerSpec())));
      const results = await Promise.all(leases.map(({ sandbox }) => sandbox.run("hostname")));
      expect(new Set(results.map(({ output }) => output)).size).toBe(1);
      expect(new Set(leases.map(({ sandbox }) => sandbox.ref.id)).size).toBe(1);
      expect(await bench.containers()).toHaveLength(1);
      await processes[0]?.releaseTask(owner, { forceRemove: true });
    }
  }, 300_000);

  test(
    "S16 profiles and tasks never share",
    async () => {
      const bench = await engineBench(engine());
      const driver = await bench.driver();
      const lifecycle = bench.lifecycle(driver);
      const owners = [
        bench.owner("a", "one"),
        bench.owner("a", "two"),
        bench.owner("b", "one"),
        bench.owner("a/b", "one"),
        bench.owner("a_b", "one"),
      ];
      for (const owner of owners) {
        const { sandbox } = await lifecycle.acquire(owner, containerSpec());
        const { output } = await sandbox.run(
          "cat /tmp/who /workspace/who ~/who 2>/dev/null; for at in /tmp /workspace ~; do echo me >$at/who; done",
        );
        expect(output).toBe("");
      }
      expect(await bench.containers()).toHaveLength(owners.length);
    },
    LONG,
  );

  test(
    "S16 what does not persist is always fresh, also twice at the same time, and each removal is of its own",
    async () => {
      const bench = await engineBench(engine());
      const spec = containerSpec({ persist: false });
      const [one, two] = await Promise.all([bench.process(), bench.process()]);
      const first = await one.acquire(bench.owner(), spec);
      const second = await two.acquire(bench.owner(), spec);
      const names = [await first.sandbox.run("echo >/var/mine; hostname"), await second.sandbox.run("hostname")];
      expect(names[0]?.output).not.toBe(names[1]?.output);
      expect((await second.sandbox.run("ls /var/mine")).exitCode).not.toBe(0);
      expect(await bench.containers()).toHaveLength(2);
      await one.close();
      expect((await second.sandbox.run("hostname")).output).toBe(names[1]?.output);
      await two.close();
      expect(await bench.containers()).toEqual([]);
    },
    LONG,
  );

  test("S18 a background process survives the one that started it, and the next one sees it", async () => {
    const bench = await engineBench(engine());
    const one = await bench.process();
    const first = await one.acquire(bench.owner(), containerSpec());
    const started = await first.sandbox.processes.start("while read -r line; do echo got $line; done", { stdin: true });
    await first.sandbox.run("echo left >/tmp/left");
    await one.close();
    const second = await (await bench.process()).acquire(bench.owner(), containerSpec());
    expect(await second.sandbox.processes.get(started.id)).toMatchObject({ state: "running", pid: started.pid });
    expect((await second.sandbox.run("cat /tmp/left")).output).toBe("left\n");
    await second.sandbox.processes.write(started.id, "it\n");
    await second.sandbox.processes.kill(started.id).catch(() => {});
    expect(await second.sandbox.processes.get(started.id)).toMatchObject({ state: "ended" });
  });
}

describeEngines("reuse of containers", (engine) => {
  describe("an existing container", () => testFinding(engine));
  describe("several processes", () => testSharing(engine));
});
