import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { findProcess } from "../../src/base/process-tree.ts";
import type { Claim } from "../../src/board/claims.ts";
import { recordOf } from "../../src/dispatcher/launcher.ts";
import { forEachTest } from "../helpers/suite.ts";
import { workerSettings } from "../helpers/worker-settings.ts";
import { defaultSettings, openWorkerBench, PATH, SUPERVISOR } from "./bench.ts";

const LIMIT = { timeout: 60_000, interval: 20 };
const bench = forEachTest(openWorkerBench);

/** Waits until the worker has made the file. */
async function until(name: string): Promise<string> {
  const path = join(bench.workspace, name);
  return await vi.waitFor(async () => {
    const text = await readFile(path, "utf8");
    expect(text).toMatch(/\n$/);
    return text.trim();
  }, LIMIT);
}

const supervisorOf = async (claim: Claim) => recordOf(await bench.run(claim))?.supervisor.pid ?? 0;
const log = (claim: Claim) => readFile(bench.files.log("default", claim.task.id), "utf8");

describe("a worker", () => {
  test("K27 has an empty standard input, its workspace as directory, and a log of both streams", async () => {
    const claim = await bench.start("cat; pwd; echo to stderr >&2");
    expect(await bench.exit(claim)).toEqual({ code: 0, signal: null, reason: "exited" });
    const text = await log(claim);
    expect(text).toContain(`run ${claim.run.id} of coder`);
    expect(text).toContain(`${bench.workspace}\n`);
    expect(text).toContain("to stderr\n");
  });

  test("K28 has the variables it is given and the mark of its run, and nothing else", async () => {
    const claim = await bench.start("", { command: ["env"], env: { HOLDFAST_TASK: "t_1" } });
    await bench.exit(claim);
    const names = (await log(claim))
      .split("\n")
      .slice(1)
      .filter(Boolean)
      .map((line) => line.split("=")[0]);
    expect(names.sort()).toEqual(["HOLDFAST_SUPERVISED", "HOLDFAST_TASK", "HOME", "PATH"]);
  });

  test.each([
    ["exit 3", { code: 3, signal: null }],
    ["exit 75", { code: 75, signal: null }],
    ["kill -9 $$", { code: null, signal: "SIGKILL" }],
  ])("K20 is reported as it ended: %s", async (script, status) => {
    expect(await bench.exit(await bench.start(script))).toEqual({ ...status, reason: "exited" });
  });

  test("K20 that cannot be started is reported with the reason", async () => {
    const claim = await bench.start("", { command: ["/no/such/program"] });
    expect(await bench.exit(claim)).toMatchObject({ reason: "start_failed", error: expect.stringContaining("/no/such/program") });
  });

  test("K20 without a workspace is reported as not started", async () => {
    const claim = await bench.start("true", { workspace: join(bench.home, "gone") });
    expect(await bench.exit(claim)).toMatchObject({ reason: "start_failed" });
  });

  test("K18 that forks away and ends: what it left is ended before its end is told", async () => {
    const claim = await bench.start(
      "setsid sh -c 'echo $$ >left; exec sleep 1000' >/dev/null 2>&1 & while [ ! -s left ]; do :; done; exit 0",
    );
    expect(await bench.exit(claim)).toMatchObject({ code: 0, reason: "exited" });
    expect(findProcess(Number(await until("left")))).toBeNull();
  });

  test("K22 that takes too long is ended, also if it ignores TERM", async () => {
    const claim = await bench.start("trap '' TERM; echo $$ >pid; while :; do sleep 1; done", { worker: { maxRuntimeMs: 300 } });
    expect(await bench.exit(claim)).toEqual({ code: null, signal: "SIGKILL", reason: "timed_out" });
    expect(findProcess(Number(await until("pid")))).toBeNull();
  });

  test("K18 K27 is kept by its supervisor although no log can be written, its own included", async () => {
    await symlink("/dev/full", join(bench.files.root, "supervisors.log"));
    await mkdir(bench.files.board("default"), { recursive: true });
    // Where nobody can make a file, not even root.
    await symlink("/proc", bench.files.logs("default"));
    const claim = await bench.start("exit 7");
    expect(await bench.exit(claim)).toMatchObject({ reason: "exited", code: 7 });
  });

  test("K27 that floods its log leaves no more than its share on the disk", async () => {
    const settings = { log: { rotateBytes: 100_000, backups: 1 } };
    const claim = await bench.start("head -c 20000000 /dev/zero; echo the end", { settings });
    expect(await bench.exit(claim)).toMatchObject({ code: 0 });
    const path = bench.files.log("default", claim.task.id);
    const sizes = await Promise.all([path, `${path}.1`].map(async (each) => (await stat(each)).size));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100_000);
    expect(await log(claim)).toContain("the end");
    expect(existsSync(`${path}.2`)).toBe(false);
  });
});

describe("SIGTERM to the supervisor", () => {
  test("K19 ends the worker and its children, also when something in between ignores it", async () => {
    const claim = await bench.start(
      "(trap '' TERM; sh -c 'echo $$ >child; while :; do sleep 1; done') & trap '' TERM; echo $$ >own; wait; while :; do sleep 1; done",
    );
    const pids = [Number(await until("own")), Number(await until("child"))];
    process.kill(await supervisorOf(claim), "SIGTERM");
    expect(await bench.exit(claim)).toMatchObject({ reason: "stopped" });
    expect(pids.map(findProcess)).toEqual([null, null]);
  });

  test("K19 lets a worker that listens tidy up", async () => {
    const claim = await bench.start("trap 'echo tidy >>said; exit 7' TERM; echo up >said; while :; do sleep 0.1; done");
    await until("said");
    process.kill(await supervisorOf(claim), "SIGTERM");
    expect(await bench.exit(claim)).toEqual({ code: 7, signal: null, reason: "stopped" });
    expect(await until("said")).toBe("up\ntidy");
  });
});

describe("the claim", () => {
  const settings = { claimTtlMs: 600 };

  test("K17 is kept while the worker lives", async () => {
    const claim = await bench.start("echo up >up; sleep 1000", { settings });
    await until("up");
    const first = (await bench.run(claim)).expiresAt ?? 0;
    await vi.waitFor(async () => expect((await bench.run(claim)).expiresAt).toBeGreaterThan(first + 600), LIMIT);
  });

  test("K17 that was revoked ends the worker", async () => {
    const claim = await bench.start("echo $$ >pid; sleep 1000", { settings });
    const pid = Number(await until("pid"));
    await bench.store.revoke(claim.run.id, { by: "test", reason: "for fun" });
    expect(await bench.exit(claim)).toMatchObject({ reason: "claim_lost" });
    expect(findProcess(pid)).toBeNull();
  });

  test("K22 is kept without a sign of life by a worker that says nothing", async () => {
    const claim = await bench.start("echo up >up; sleep 1000", { settings });
    await until("up");
    const { heartbeatAt } = await bench.run(claim);
    const first = (await bench.run(claim)).expiresAt ?? 0;
    await vi.waitFor(async () => expect((await bench.run(claim)).expiresAt).toBeGreaterThan(first + 600), LIMIT);
    // The first renewal counts as one, since the worker has just begun.
    const later = (await bench.run(claim)).heartbeatAt ?? 0;
    await vi.waitFor(async () => expect((await bench.run(claim)).expiresAt).toBeGreaterThan(first + 1200), LIMIT);
    expect((await bench.run(claim)).heartbeatAt).toBe(later);
    expect(later).toBeGreaterThanOrEqual(heartbeatAt ?? 0);
  });
});

describe("a supervisor", () => {
  test("K18 that is never told what to do starts nothing and ends", async () => {
    const [program = "", ...args] = SUPERVISOR;
    const child = spawn(program, args, { env: PATH, stdio: ["pipe", "ignore", "inherit"] });
    // A dispatcher that dies in the middle of its word.
    child.stdin.write('{"run": 1, "command": ["touch", "/tmp/never"]}');
    child.stdin.end();
    expect((await once(child, "exit"))[0]).toBe(1);
  });

  test("K18 that was killed is gone, and its worker is found and ended", async () => {
    const claim = await bench.start("setsid sh -c 'echo $$ >child; exec sleep 1000' & echo $$ >own; sleep 1000");
    const pids = [Number(await until("own")), Number(await until("child"))];
    process.kill(await supervisorOf(claim), "SIGKILL");
    await vi.waitFor(async () => expect(await bench.launcher.look(await bench.run(claim))).toBe("gone"), LIMIT);
    await bench.launcher.end(await bench.run(claim), { graceMs: 100 });
    expect(pids.map(findProcess)).toEqual([null, null]);
  });

  test("K18 that was killed: its worker is found and ended although it has emptied its environment", async () => {
    const script = "echo $$ >own; setsid sh -c 'echo $$ >child; exec sleep 1000' & while :; do sleep 0.1; done";
    const claim = await bench.start("", {
      command: ["sh", "-c", 'exec env -i PATH="$PATH" sh -c "$1"', "sh", script],
    });
    const pids = [Number(await until("own")), Number(await until("child"))];
    await vi.waitFor(async () => expect(recordOf(await bench.run(claim))?.process?.pid).toBe(pids[0]), LIMIT);
    process.kill(await supervisorOf(claim), "SIGKILL");
    await vi.waitFor(async () => expect(await bench.launcher.look(await bench.run(claim))).toBe("gone"), LIMIT);
    await bench.launcher.end(await bench.run(claim), { graceMs: 100 });
    expect(pids.map(findProcess)).toEqual([null, null]);
  });

  test("K18 that was killed: a process that has the number of its worker by now is left alone", async () => {
    const claim = await bench.start("true");
    await bench.exit(claim);
    const run = await bench.run(claim);
    const stranger = spawn("sleep", ["1000"]);
    try {
      await bench.launcher.end({ ...run, worker: { ...run.worker, process: { pid: stranger.pid, startedAt: "1" } } }, { graceMs: 0 });
      expect(findProcess(stranger.pid ?? 0)).not.toBeNull();
    } finally {
      stranger.kill();
    }
  });

  test("K18 that was paused is alive, and ends with its worker when it must", async () => {
    const claim = await bench.start("echo $$ >own; sleep 1000");
    const pid = Number(await until("own"));
    const supervisor = await supervisorOf(claim);
    process.kill(supervisor, "SIGSTOP");
    process.kill(pid, "SIGSTOP");
    expect(await bench.launcher.look(await bench.run(claim))).toBe("alive");
    await bench.launcher.end(await bench.run(claim), { graceMs: 100 });
    expect([findProcess(pid), findProcess(supervisor)]).toEqual([null, null]);
  });

  test("K18 whose number belongs to another process by now is gone, and that one is left alone", async () => {
    const claim = await bench.start("true");
    await bench.exit(claim);
    const run = await bench.run(claim);
    const stranger = spawn("sleep", ["1000"]);
    try {
      const worker = { ...run.worker, supervisor: { pid: stranger.pid, startedAt: "1" } };
      expect(await bench.launcher.look({ ...run, worker })).toBe("gone");
      await bench.launcher.end({ ...run, worker }, { graceMs: 0 });
      expect(findProcess(stranger.pid ?? 0)).not.toBeNull();
    } finally {
      stranger.kill();
    }
  });

  test("K18 of another machine is elsewhere and is not ended from here; of an earlier boot it is gone", async () => {
    const claim = await bench.start("true");
    await bench.exit(claim);
    const run = await bench.run(claim);
    const place = recordOf(run)?.place;
    const at = (other: object) => ({ ...run, worker: { ...run.worker, place: { ...place, ...other } } });
    expect(await bench.launcher.look(at({ install: "other" }))).toBe("elsewhere");
    expect(await bench.launcher.look(at({ pids: "pid:[1]" }))).toBe("elsewhere");
    expect(await bench.launcher.look(at({ boot: "other" }))).toBe("gone");
    await expect(bench.launcher.end(at({ install: "other" }), { graceMs: 0 })).rejects.toMatchObject({ code: "unsupported" });
  });
});

test("K18 a run that a person has claimed has no worker to look for", async () => {
  const { task } = await bench.store.createTask({ title: "by hand" }, { by: "test" });
  const { run } = await bench.store.claim(task.id, { by: "ada", as: "person" });
  expect(await bench.launcher.look(run)).toBe("alive");
  await bench.launcher.end(run, { graceMs: 0 });
});

test("K18 what a revoked claim would start is never started", async () => {
  const { task } = await bench.store.createTask({ title: "late" }, { by: "test" });
  const claim = await bench.store.claim(task.id, { by: "dispatcher/test" });
  await bench.store.revoke(claim.run.id, { by: "test", reason: "somebody else leads" });
  const launch = bench.launcher.launch(claim, {
    worker: workerSettings(["touch", join(bench.workspace, "never")]),
    workspace: { kind: "scratch", path: bench.workspace, branch: null },
    settings: defaultSettings(),
  });
  await expect(launch).rejects.toMatchObject({ code: "claim-lost" });
  expect(existsSync(join(bench.workspace, "never"))).toBe(false);
});
