import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "./clock.ts";
import { randomId } from "./ids.ts";
import { findTree, killTree } from "./process-tree.ts";

const VARIABLE = "HOLDFAST_TEST_MARK";
const children: ChildProcess[] = [];

afterEach(async () => {
  // The whole group: what a script left in the background goes with it.
  for (const { pid } of children.splice(0)) {
    try {
      process.kill(-(pid ?? 0), "SIGKILL");
    } catch (error) {
      expect(error).toMatchObject({ code: "ESRCH" });
    }
  }
});

/** Starts a script in a session of its own and waits for its first words. */
async function start(script: string, mark: string | null): Promise<{ pid: number; child: ChildProcess; said: string[] }> {
  const env = { PATH: process.env.PATH ?? "", ...(mark === null ? {} : { [VARIABLE]: mark }) };
  const child = spawn("bash", ["--norc", "-c", script], { env, detached: true, stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  const [words] = await once(child.stdout as NonNullable<ChildProcess["stdout"]>, "data");
  return { pid: child.pid ?? 0, child, said: String(words).trim().split(/\s+/) };
}

const pidsOf = (mark: string, more = {}) =>
  findTree({ variable: VARIABLE, value: mark, ...more })
    .map(({ pid }) => pid)
    .sort();

describe("a tree", () => {
  test("is found by the variable, whatever session it moved to, and by nothing that looks alike", async () => {
    const mark = randomId();
    const own = await start("sleep 1000 & pid=$!; setsid sleep 1000 & echo $pid $!; wait", mark);
    await start("echo other; sleep 1000", `${mark}0`);
    await start(`export UNRELATED=${VARIABLE}=${mark}; echo other; sleep 1000`, null);
    expect(pidsOf(mark)).toEqual([own.pid, ...own.said.map(Number)].sort());
    await killTree({ variable: VARIABLE, value: mark }, { clock: systemClock, graceMs: 1000 });
    expect(pidsOf(mark)).toEqual([]);
  });

  test("is found by descent where the environment was emptied, also without a root", async () => {
    const mark = randomId();
    const own = await start("env -i bash -c 'sleep 1000 & echo $$ $!; wait'; sleep 1000", mark);
    expect(pidsOf(mark)).toEqual([own.pid, ...own.said.map(Number)].sort());
    await killTree({ variable: VARIABLE, value: mark }, { clock: systemClock, graceMs: 1000 });
  });

  test("is found by its root's session after the root has ended", async () => {
    const mark = randomId();
    const own = await start("env -i sleep 1000 & echo $!", null);
    if (own.child.exitCode === null) await once(own.child, "exit");
    const root = { root: own.pid, rootEnded: true };
    expect(pidsOf(mark, root)).toEqual(own.said.map(Number));
    await killTree({ variable: VARIABLE, value: mark, ...root }, { clock: systemClock, graceMs: 1000 });
    expect(pidsOf(mark, root)).toEqual([]);
  });

  test("of a root that has ended is not that of a stranger with its number", async () => {
    const stranger = await start("sleep 1000 & echo $!; wait", null);
    expect(pidsOf("none", { root: stranger.pid })).toHaveLength(2);
    expect(pidsOf("none", { root: stranger.pid, rootEnded: true })).toEqual([]);
  });

  test("keeps what was found before, and never takes a stranger with its number for it", async () => {
    const orphan = await start("sleep 1000 & echo $!; wait", null);
    const selector = { variable: VARIABLE, value: "none" };
    const known = findTree({ ...selector, root: orphan.pid });
    // Only their ids: the child may have become `sleep` in between.
    expect(findTree(selector, known).map(({ pid }) => pid)).toEqual(known.map(({ pid }) => pid));
    const strangers = known.map((entry) => ({ ...entry, startedAt: `${entry.startedAt}0` }));
    expect(findTree(selector, strangers)).toEqual([]);
    expect(findTree({ ...selector, root: orphan.pid }, strangers)).toEqual([]);
    await killTree({ ...selector, root: orphan.pid }, { clock: systemClock, graceMs: 1000 });
  });

  test("never includes this process or one it runs in", () => {
    expect(pidsOf("none", { root: process.ppid })).not.toContain(process.pid);
    expect(pidsOf("none", { root: process.ppid })).not.toContain(process.ppid);
  });

  test("names its processes", async () => {
    const mark = randomId();
    const { pid } = await start("echo begun; exec -a x sleep 1000", mark);
    const [found] = findTree({ variable: VARIABLE, value: mark });
    expect(found).toMatchObject({ pid, command: expect.stringMatching(/^(bash|sleep)$/), parent: process.pid });
  });

  test("that is not there is ended at once", async () => {
    await killTree({ variable: VARIABLE, value: "nobody" }, { clock: systemClock, graceMs: 60_000 });
  });
});
