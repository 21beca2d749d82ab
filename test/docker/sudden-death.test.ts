import { randomInt } from "node:crypto";
import { chmod, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, expect, onTestFailed, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import type { SandboxDriver } from "../../src/sandbox/driver.ts";
import type { SandboxSpec } from "../../src/sandbox/spec.ts";
import { ENGINE_LIMIT_MS, type TestEngine, testEngine } from "../helpers/engine.ts";
import { describeIf } from "../helpers/requirements.ts";
import { soakCount } from "../helpers/soak.ts";
import type { Report } from "./client.ts";
import { type Client, type Life, startClient, untilEnded } from "./client-process.ts";
import { containerSpec, describeEngines, type EngineBench, engineBench, LONG } from "./engine-bench.ts";

const KILLS = soakCount("sudden deaths of clients", { check: 24, soak: 200 });
const KEPT = containerSpec();
// Long enough for a client on a busy machine to come to what it has just made.
const FLEETING = containerSpec({ persist: false, keepFiles: false, idleStopSeconds: 3 });
const MUCH_LATER = () => systemClock.now() + 3_600_000;
const STATE_LIMIT_MS = 60_000;

/** What the engine's client does in place of one command; `die` kills whoever asked for it. */
const DEATHS: Readonly<Record<string, string>> = {
  "before-a-container-is-made": "run) die",
  "when-it-is-made-but-not-started": 'run) shift 2; "$engine" create "$@"; die',
  "when-it-runs-but-is-not-known": 'run) "$engine" "$@"; die',
  "when-it-is-stopped-but-not-removed": 'stop) "$engine" "$@"; die',
  "when-it-is-removed-but-not-its-directory": 'rm) "$engine" "$@"; die',
};

/** The engine's own client, but for one command. */
async function deadlyBinary({ engine, directory }: EngineBench, task: string): Promise<string> {
  const path = join(directory, `engine-${task}`);
  const lines = ["#!/bin/sh", `engine='${engine.binary}'`, "die() { kill -9 $PPID; exit 1; }", `case $1 in ${DEATHS[task]} ;; esac`];
  await writeFile(path, `${lines.join("\n")}\nexec "$engine" "$@"\n`);
  await chmod(path, 0o755);
  return path;
}

function live(bench: EngineBench, task: string, spec: SandboxSpec): Life {
  return { do: "live", owner: bench.owner(task), spec, command: "hostname" };
}

/** The next use of each task works, in the container that is there if it persists; `sandbox ls` shows all that there is. */
async function useAgain(bench: EngineBench, tasks: readonly string[], spec: SandboxSpec): Promise<void> {
  const driver = await bench.driver();
  const found = await driver.list({ install: bench.owner().install });
  expect(found.map(({ id }) => id).sort()).toEqual((await bench.containers()).map(({ id }) => id).sort());
  const lifecycle = bench.lifecycle(driver);
  const use = async (task: string) => {
    const { sandbox } = await lifecycle.acquire(bench.owner(task), spec);
    expect((await sandbox.run("hostname")).output.trim()).toBe(sandbox.ref.id.slice(0, 12));
    const before = found.filter(({ owner }) => owner.task === task).map(({ id }) => id);
    if (spec.persist) expect((await driver.list(bench.owner(task))).map(({ id }) => id)).toEqual([before[0] ?? sandbox.ref.id]);
    else expect(before).not.toContain(sandbox.ref.id);
  };
  await Promise.all(tasks.map(use));
  await lifecycle.close({ limitMs: STATE_LIMIT_MS });
}

/** What does not persist stops by itself when its client is dead; then the reaper takes it. It never takes what did not run. */
async function expectReaped(bench: EngineBench, tasks: readonly string[]): Promise<void> {
  const states = async () => (await bench.containers()).map(({ state }) => state);
  await expect.poll(states, { timeout: STATE_LIMIT_MS }).not.toContain("running");
  const reaping = await bench.driver({ now: MUCH_LATER });
  const made = await reaping.create(bench.owner(tasks[0]), FLEETING);
  expect((await bench.containers()).filter(({ id, state }) => id !== made.id && state !== "created")).toEqual([]);
}

/** Once all that is listed was purged, and all that is told as left behind was removed, nothing is there. */
async function expectNothingHidden(bench: EngineBench): Promise<void> {
  const later = await bench.driver({ now: MUCH_LATER });
  const { install, profile } = bench.owner();
  const refs = await later.list({ install });
  await Promise.all(refs.map((ref) => later.destroy(ref, { purge: true })));
  expect(await bench.containers()).toEqual([]);
  for (const leftover of (await later.leftovers?.({ install, profile })) ?? []) await leftover.remove();
  expect(await readdir(dirname(bench.placeOf()), { recursive: true })).toEqual([]);
}

describeEngines("sudden death of a client at every step", (engine) => {
  const die = async (bench: EngineBench, task: string, spec: SandboxSpec) => {
    const client = await startClient(bench, { binary: await deadlyBinary(bench, task) });
    client.order(live(bench, task, spec));
    expect(await client.untilOver()).toBeNull();
  };
  const tasks = Object.keys(DEATHS);

  test(
    "S14 S18 the next use takes up what persists, whatever is left of it",
    async () => {
      const bench = await engineBench(engine());
      await Promise.all(tasks.map((task) => die(bench, task, KEPT)));
      await useAgain(bench, tasks, KEPT);
      expect(await bench.containers()).toHaveLength(tasks.length);
      await expectNothingHidden(bench);
    },
    LONG,
  );

  test(
    "S28 S29 what does not persist stops by itself and is reaped",
    async () => {
      const bench = await engineBench(engine());
      await Promise.all(tasks.map((task) => die(bench, task, FLEETING)));
      await useAgain(bench, tasks, FLEETING);
      await expectReaped(bench, tasks);
      await expectNothingHidden(bench);
    },
    LONG,
  );
});

/** Tasks whose clients die one after the other, at random points of their lives; all tasks at the same time. */
const LANES = Array.from({ length: 8 }, (_, index) => ({ task: `lane-${index}`, spec: index % 2 === 0 ? KEPT : FLEETING }));
const tasksWith = (kind: SandboxSpec) => LANES.filter(({ spec }) => spec === kind).map(({ task }) => task);

/** Numbers from 0 to 1, the same for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** How long a client lives that nobody kills, from its order on. */
async function lifetime(client: Client, life: Life): Promise<number> {
  const startedAt = systemClock.monotonic();
  client.order(life);
  expect(await client.untilOver()).toEqual({ step: "removed" });
  const lived = systemClock.monotonic() - startedAt;
  await client.end();
  return lived;
}

/** What the clients of one task found, and must have found, as far as it is known what the one before has left. */
function createWitness(bench: EngineBench) {
  // A removal that was asked for goes on after the death of who asked, under whoever comes next.
  let doomed: string | undefined;
  let left: string | undefined;
  return {
    async hear(reports: readonly Report[]): Promise<void> {
      const last = reports.at(-1);
      const opened = reports.find(({ step }) => step === "opened")?.id;
      if (opened !== undefined && opened !== doomed) doomed = undefined;
      if (last?.step === "failed") expect({ ...last, doomed }).toMatchObject({ code: "sandbox-lost", doomed: expect.any(String) });
      if (left !== undefined && opened !== undefined && opened !== left) await untilGone(left);
      if (last?.step === "closed") doomed = opened;
      left = undefined;
    },
    async look(driver: SandboxDriver, task: string): Promise<void> {
      const refs = await driver.list(bench.owner(task));
      expect(refs.length).toBeLessThanOrEqual(1);
      left = refs[0]?.id;
    },
  };

  async function untilGone(id: string): Promise<void> {
    const ids = async () => (await bench.containers()).map((container) => container.id);
    await expect.poll(ids, { timeout: STATE_LIMIT_MS }).not.toContain(id);
  }
}

describeIf(["cc", "mmdebstrap", "dockerd"], "sudden death of clients at random points", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await testEngine();
  }, ENGINE_LIMIT_MS);

  test(
    "S18 S28 nothing leaks that the next use does not take up, reap or explain",
    async () => {
      const bench = await engineBench(engine);
      const driver = await bench.driver();
      const seed = randomInt(2 ** 31);
      onTestFailed(() => console.error(`the seed was ${seed}`));
      const runLane = async ({ task, spec }: (typeof LANES)[number], index: number) => {
        const random = createRandom(seed + index);
        const life = live(bench, task, spec);
        const lengthMs = await lifetime(await startClient(bench), life);
        const witness = createWitness(bench);
        for (let kills = KILLS / LANES.length; kills > 0; kills--) {
          const client = await startClient(bench);
          client.order(life);
          await pause(random() * lengthMs);
          const orphans = await client.kill({ children: kills > 1 && random() < 0.5 });
          await witness.hear(client.reports);
          // The next one comes while the engine still works for the dead one, or afterwards.
          if (kills > 1 && random() < 0.5) continue;
          await untilEnded(orphans);
          if (spec.persist) await witness.look(driver, task);
        }
      };
      await Promise.all(LANES.map(runLane));
      await useAgain(bench, tasksWith(FLEETING), FLEETING);
      await useAgain(bench, tasksWith(KEPT), KEPT);
      const kept = (await driver.list({ install: bench.owner().install })).filter(({ owner }) => tasksWith(KEPT).includes(owner.task));
      expect(kept).toHaveLength(tasksWith(KEPT).length);
      await Promise.all(kept.map((ref) => driver.destroy(ref)));
      await expectReaped(bench, tasksWith(FLEETING));
      await expectNothingHidden(bench);
    },
    3 * LONG,
  );
});
