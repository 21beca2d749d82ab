import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openHoldfast } from "../../src/app/open-holdfast.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { cliBench } from "./cli-bench.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";

const FLEETING = containerSpec({ persist: false });
const DROPPED = { ...FLEETING, keepFiles: false };

describeEngines("teardown of containers", (engine) => {
  test("S21 cleanup leaves a container that persists alone, and the next use finds it", async () => {
    const bench = await engineBench(engine());
    const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
    const { id } = lease.sandbox.ref;
    await lease.sandbox.run("echo >/tmp/mark");
    await lease.cleanup();
    expect(await bench.containers()).toMatchObject([{ id, state: "running" }]);
    expect(await lease.sandbox.run("ls /tmp/mark")).toMatchObject({ exitCode: 0, replaced: null, restarted: false });
    expect(lease.sandbox.ref.id).toBe(id);
  });

  test(
    "S21 S24 cleanup by force removes it all the same, with what runs in it; twice is harmless, and its files stay",
    async () => {
      const bench = await engineBench(engine());
      const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
      await lease.sandbox.run("echo kept >kept");
      await lease.sandbox.processes.start("trap '' TERM; sleep 600");
      await lease.cleanup({ forceRemove: true });
      expect(await bench.containers()).toEqual([]);
      await lease.cleanup({ forceRemove: true });
      await lease.cleanup();
      expect(existsSync(join(bench.placeOf(), "run"))).toBe(false);
      expect(await readFile(join(bench.placeOf(), "workspace/kept"), "utf8")).toBe("kept\n");
      expect((await lease.sandbox.run("cat kept")).output).toBe("kept\n");
    },
    LONG,
  );

  test(
    "S21 S22 one that does not persist is removed by cleanup; its directories only go when files are not kept",
    async () => {
      const bench = await engineBench(engine());
      for (const keepFiles of [true, false]) {
        const task = keepFiles ? "keeps" : "drops";
        const lifecycle = await bench.process();
        const lease = await lifecycle.acquire(bench.owner(task), { ...FLEETING, keepFiles });
        await lease.sandbox.run("echo it >/workspace/file; echo it >~/file");
        await lease.cleanup();
        expect(await bench.containers()).toEqual([]);
        for (const name of ["workspace", "home"]) expect(existsSync(join(bench.placeOf(task), name, "file"))).toBe(keepFiles);
        expect(existsSync(bench.placeOf(task))).toBe(keepFiles);
      }
    },
    LONG,
  );

  test("S24 letting go of a sandbox that never was is harmless", async () => {
    const bench = await engineBench(engine());
    const lifecycle = await bench.process();
    await lifecycle.releaseTask(bench.owner());
    await lifecycle.releaseTask(bench.owner(), { forceRemove: true });
    await lifecycle.endTurn(bench.owner());
    const ref = { driver: "docker", id: "never-was", owner: bench.owner(), fingerprint: "", state: "stopped", createdAt: 1 } as const;
    await (await bench.driver()).destroy(ref);
    expect(await lifecycle.waitForCleanup(10_000)).toBe(true);
    expect(await bench.containers()).toEqual([]);
  });

  test(
    "S25 S26 the end of a task and of a turn honour persist mode; force removes also what another process holds",
    async () => {
      const bench = await engineBench(engine());
      const lifecycle = await bench.process();
      const [kept, fleeting, turn] = [bench.owner("kept"), bench.owner("fleeting"), bench.owner("turn")];
      const { sandbox } = await lifecycle.acquire(kept, containerSpec());
      await lifecycle.acquire(fleeting, FLEETING);
      await lifecycle.acquire(turn, DROPPED);
      expect(await bench.containers()).toHaveLength(3);
      await Promise.all([lifecycle.endTurn(kept), lifecycle.endTurn(turn), lifecycle.releaseTask(fleeting), lifecycle.releaseTask(kept)]);
      expect(await bench.containers()).toMatchObject([{ id: sandbox.ref.id, state: "running" }]);
      await (await bench.process()).releaseTask(kept, { forceRemove: true });
      expect(await bench.containers()).toEqual([]);
    },
    LONG,
  );

  test.each([true, false])(
    "S26 A1 between two turns everything stays: host name, /tmp, a login and what runs (persists: %j)",
    async (persist) => {
      const bench = await engineBench(engine());
      const spec = containerSpec({ persist });
      const lifecycle = await bench.process();
      const look = "hostname; cat /tmp/x ~/.login; echo $TOKEN; kill -0 $(cat /tmp/server) && echo serving";
      const first = await lifecycle.acquire(bench.owner(), spec);
      await first.sandbox.run("echo it >/tmp/x; echo logged-in >~/.login; export TOKEN=mine");
      await first.sandbox.run("sleep 600 >/dev/null 2>&1 & echo $! >/tmp/server");
      const before = await first.sandbox.run(look);
      expect(before.stdout).toMatch(/^\w+\nit\nlogged-in\nmine\nserving\n$/);
      const started = await first.sandbox.processes.start("sleep 600");
      await lifecycle.endTurn(bench.owner());
      // A sandbox that persists is found by another process as well.
      const next = await (persist ? await bench.process() : lifecycle).acquire(bench.owner(), spec);
      expect(await next.sandbox.run(look)).toMatchObject({ stdout: before.stdout, restarted: false, replaced: null });
      expect(await next.sandbox.processes.list()).toMatchObject([{ id: started.id, state: "running" }]);
      expect(await bench.containers()).toHaveLength(1);
      await lifecycle.close({ limitMs: 60_000 });
      expect(await bench.containers()).toHaveLength(persist ? 1 : 0);
    },
    LONG,
  );

  test(
    "S21 S23 S24 S25 the library lets go of sandboxes by their rules, or by force, and waits until it is done",
    async () => {
      const { cli, env, containers } = await cliBench(engine());
      const open = (variables = {}) => openHoldfast({ environment: { ...cli.env, ...env, ...variables }, cwd: cli.directory });
      await using holdfast = await open();
      const box = await holdfast.sandbox("chat");
      const name = (await box.run("hostname; echo it >/tmp/x")).stdout;
      await box.cleanup();
      await holdfast.releaseTask("chat");
      await holdfast.releaseTask("never");
      expect(await holdfast.waitForCleanup(0)).toBe(true);
      expect((await box.run("hostname; ls /tmp/x")).stdout).toBe(`${name}/tmp/x\n`);
      await holdfast.releaseTask("chat", { forceRemove: true });
      expect(await containers()).toEqual([]);
      await box.run("sleep 600 >/dev/null 2>&1 &");
      const removed = box.cleanup({ forceRemove: true });
      expect(await holdfast.waitForCleanup(60_000)).toBe(true);
      expect(await containers()).toEqual([]);
      await removed;
      await box.cleanup({ forceRemove: true });

      await using optedOut = await open({ TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "false" });
      await (await optedOut.sandbox("chat")).run("true");
      await (await optedOut.sandbox("other")).cleanup();
      expect(await containers()).toHaveLength(1);
      await optedOut.endTurn("chat");
      expect(await containers()).toHaveLength(1);
      await optedOut.releaseTask("chat");
      expect(await containers()).toEqual([]);
    },
    LONG,
  );

  test(
    "S23 S22 the end of a process removes what does not persist and leaves the rest",
    async () => {
      const bench = await engineBench(engine());
      const lifecycle = await bench.process();
      const { sandbox } = await lifecycle.acquire(bench.owner("kept"), containerSpec());
      await lifecycle.acquire(bench.owner("fleeting"), FLEETING);
      await lifecycle.close({ limitMs: 60_000 });
      expect(await bench.containers()).toMatchObject([{ id: sandbox.ref.id, state: "running" }]);
      expect(await lifecycle.waitForCleanup(0)).toBe(true);
    },
    LONG,
  );

  test(
    "S27 what is unused is let go of by its rules, but not while a process runs in it",
    async () => {
      const bench = await engineBench(engine());
      const clock = createManualClock();
      const lifecycle = bench.lifecycle(await bench.driver(), { clock, idleMs: 1_000_000 });
      const kept = await lifecycle.acquire(bench.owner("kept"), containerSpec());
      const fleeting = await lifecycle.acquire(bench.owner("fleeting"), FLEETING);
      const process = await fleeting.sandbox.processes.start("sleep 600");
      await lifecycle.idleReaper.stop();
      await clock.advance(1_000_000);
      expect(await lifecycle.idleReaper.runOnce()).toEqual({ examined: 2, released: 1, removed: 0, skippedBusy: 1 });
      expect(await bench.containers()).toHaveLength(2);
      await fleeting.sandbox.processes.kill(process.id, { graceMs: 0 });
      await clock.advance(1_000_000);
      expect(await lifecycle.idleReaper.runOnce()).toMatchObject({ removed: 1 });
      expect(await bench.containers()).toMatchObject([{ id: kept.sandbox.ref.id, state: "running" }]);
    },
    LONG,
  );
});
