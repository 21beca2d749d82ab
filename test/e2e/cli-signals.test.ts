import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync, writeSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test, vi } from "vitest";
import { createTestCli, PROGRAM } from "../helpers/cli.ts";
import { describeIf, testIf } from "../helpers/requirements.ts";

/** Three processes, one of which has left its parent's session; prints their ids on one line. */
const TREE = "setsid sleep 600 & inner=$!; sleep 600 & echo pids $$ $inner $!; wait";

const WAIT = { timeout: 60_000, interval: 10 };

function pidsIn(text: string): number[] {
  return (/pids ([\d ]+)/.exec(text)?.[1] ?? "").trim().split(" ").map(Number);
}

function running(pids: readonly number[]): number[] {
  return pids.filter((pid) => existsSync(`/proc/${pid}/exe`));
}

describe("S33 a signal", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s ends everything that the command started, with status %i", async (signal, status) => {
    await using cli = await createTestCli();
    const holdfast = cli.start(["exec", "--", TREE]);
    const pids = pidsIn(await holdfast.untilPrinted("\n"));
    expect(running(pids)).toHaveLength(3);
    holdfast.child.kill(signal);
    expect(await holdfast.ended).toMatchObject({ status });
    expect(running(pids)).toEqual([]);
  });

  test("also ends a command that does not want to end, and keeps what it said", async () => {
    await using cli = await createTestCli();
    const holdfast = cli.start(["exec", "--", "trap 'echo not yet' TERM; echo ready; while :; do sleep 0.1; done"]);
    await holdfast.untilPrinted("ready");
    holdfast.child.kill("SIGINT");
    const { status, stdout } = await holdfast.ended;
    expect({ status, stdout }).toEqual({ status: 130, stdout: "ready\nnot yet\n" });
  });

  test("leaves the sandbox and its sessions usable", async () => {
    await using cli = await createTestCli();
    await cli.runProcess(["exec", "--", "export A=1"]);
    const holdfast = cli.start(["exec", "--", "echo ready; sleep 600"]);
    await holdfast.untilPrinted("ready");
    holdfast.child.kill("SIGTERM");
    await holdfast.ended;
    expect((await cli.run(["exec", "--", "echo [$A]"])).stdout).toBe("[1]\n");
  });

  test("with --json still gives the result", async () => {
    await using cli = await createTestCli();
    const holdfast = cli.start(["exec", "--json", "--", "echo begun; touch ready; sleep 600"]);
    await vi.waitUntil(() => existsSync(`${cli.directory}/ready`), WAIT);
    holdfast.child.kill("SIGINT");
    const { status, stdout } = await holdfast.ended;
    expect(status).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ interrupted: true, exitCode: 130, stdout: "begun\n" });
  });

  test("that comes before the command has begun keeps it from beginning", async () => {
    await using cli = await createTestCli();
    await writeFile(join(cli.env.HOME ?? "", ".profile"), `touch '${cli.directory}/login'; sleep 1\n`);
    const holdfast = cli.start(["exec", "--", "touch ran"]);
    await vi.waitUntil(() => existsSync(join(cli.directory, "login")), WAIT);
    holdfast.child.kill("SIGINT");
    expect(await holdfast.ended).toMatchObject({ status: 130, stdout: "", stderr: "" });
    expect(existsSync(join(cli.directory, "ran"))).toBe(false);
  });

  test("is not held up by a reader that does not read", async () => {
    await using cli = await createTestCli();
    const full = fullPipe(join(cli.directory, "pipe"));
    const child = spawn(process.execPath, [PROGRAM, "exec", "--", "echo $$ >&2; exec yes"], {
      cwd: cli.directory,
      env: cli.env,
      stdio: ["ignore", full, "pipe"],
    });
    // It may also end by itself before the second signal.
    const exited = once(child, "exit");
    const [pid] = await once(child.stderr as Readable, "data");
    child.kill("SIGINT");
    await vi.waitUntil(() => running([Number(pid)]).length === 0, WAIT);
    child.kill("SIGINT");
    const [status] = await exited;
    closeSync(full);
    expect(status).toBe(130);
  });
});

test("S33 a timeout is not held up by a reader that does not read, and what is dropped is said", async () => {
  await using cli = await createTestCli();
  const full = fullPipe(join(cli.directory, "pipe"));
  const child = spawn(process.execPath, [PROGRAM, "exec", "--timeout", "0.3", "--", "yes"], {
    cwd: cli.directory,
    env: cli.env,
    stdio: ["ignore", full, "pipe"],
  });
  const [said, [status]] = await Promise.all([text(child.stderr as Readable), once(child, "exit")]);
  closeSync(full);
  expect(status).toBe(124);
  expect(said).toMatch(/^note: the rest of the output was dropped.*\nnote: the command was ended after .* \(timeout\)$/m);
});

describe("a signal that the caller ignores", () => {
  test.each([
    ["SIGHUP", 1, "SIGTERM", 143],
    ["SIGINT", 2, "SIGTERM", 143],
    ["SIGTERM", 16384, "SIGINT", 130],
  ] as const)("%s (as nohup and shells do) does not end the command, another does", async (ignored, mask, other, status) => {
    await using cli = await createTestCli();
    const holdfast = cli.start([
      `__ignored=${mask}`,
      "exec",
      "--",
      "echo ready; until [ -e go ]; do sleep 0.05; done; echo still; sleep 600",
    ]);
    await holdfast.untilPrinted("ready");
    holdfast.child.kill(ignored);
    await writeFile(join(cli.directory, "go"), "");
    await holdfast.untilPrinted("still");
    holdfast.child.kill(other);
    expect(await holdfast.ended).toMatchObject({ status });
  });
});

testIf("script", "S33 Ctrl-C on a terminal ends the command and gives 130", async () => {
  await using cli = await createTestCli();
  const line = [process.execPath, PROGRAM, "exec", "--", TREE].map((word) => `'${word}'`).join(" ");
  const holdfast = cli.start(["-qefc", line, "/dev/null"], { program: ["script"] });
  const pids = pidsIn(await holdfast.untilPrinted("\n"));
  holdfast.child.stdin?.write("\u0003");
  expect(await holdfast.ended).toMatchObject({ status: 130 });
  expect(running(pids)).toEqual([]);
});

describeIf("script", "a question on a terminal", () => {
  test.each([
    ["y", "y\n", { status: 0, gone: true }],
    ["n", "n\n", { status: 1, gone: false }],
    ["the end of input", "\u0004", { status: 1, gone: false }],
    ["Ctrl-C", "\u0003", { status: 130, gone: false }],
  ])("is answered with %s", async (_, keys, expected) => {
    await using cli = await createTestCli();
    const pid = Number((await cli.run(["exec", "--", "sleep 600 >/dev/null 2>&1 & echo $!"])).stdout);
    const line = [process.execPath, PROGRAM, "sandbox", "rm", "default"].map((word) => `'${word}'`).join(" ");
    const holdfast = cli.start(["-qefc", line, "/dev/null"], { program: ["script"] });
    await holdfast.untilPrinted("End it and go on? [y/N]");
    holdfast.child.stdin?.write(keys);
    const { status } = await holdfast.ended;
    const gone = running([pid]).length === 0;
    if (!gone) process.kill(pid, "SIGKILL");
    expect({ status, gone }).toEqual(expected);
  });
});

/** A pipe that nobody reads and into which not another byte fits. */
function fullPipe(path: string): number {
  execFileSync("mkfifo", [path]);
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    return descriptor;
  }
}
