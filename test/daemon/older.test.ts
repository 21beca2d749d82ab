import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { createLogger, type LogRecord } from "../../src/base/log.ts";
import { createLifecycle } from "../../src/lifecycle/lifecycle.ts";
import { createDriver } from "../../src/sandbox/drivers/local/driver.ts";
import { connectSocket, proveLink } from "../../src/sandbox/drivers/shared/daemon-socket.ts";
import { stopHostDaemon } from "../../src/sandbox/drivers/shared/host-daemon.ts";
import { buildDaemon } from "../helpers/daemon.ts";
import { driverContext } from "../helpers/driver-context.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { callThrough, runDirectory, startOnHost } from "../helpers/older-daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { sandboxSpec } from "../helpers/sandbox-spec.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { alive, eventually } from "./machine.ts";

const owner = { install: "i", profile: "p", task: "t" };
const clock = systemClock;

/** A sandbox with a session, whose daemon has ended; each `process` is another one of Holdfast. */
async function usedSandbox() {
  const place = await temporaryDirectory();
  const [sandboxDir, home] = [join(place.path, "sandboxes"), join(place.path, "home")];
  await mkdir(home);
  const logged: LogRecord[] = [];
  const log = createLogger({ clock, level: "debug", sink: (record) => logged.push(record) });
  const hostEnv = { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: home };
  const driverWith = (daemonProgram: string) => createDriver(driverContext({ sandboxDir, hostEnv, daemonProgram, log }));
  const driver = driverWith(await buildDaemon("release"));
  const limits = { keepChars: 50_000, spillBytes: 0, spillDirectory: place.path };
  const audit = () => {};
  const another = () =>
    createLifecycle({
      driver,
      clock,
      log,
      audit,
      limits,
      idleMs: 300_000,
      onDrift: "warn",
      defaultTimeoutMs: 60_000,
      startDirectory: home,
    });
  const first = another();
  const { sandbox } = await first.acquire(owner, sandboxSpec({ backend: "local" }));
  const runDir = runDirectory(sandboxDir, owner);
  await sandbox.run("export KEPT=yes; cd /usr");
  await first.close();
  await stopHostDaemon(runDir, { clock, graceMs: 0 });
  onTestFinished(async () => {
    await driver.destroy(sandbox.ref);
    await place[Symbol.asyncDispose]();
  });
  const link = async () => {
    const socket = await connectSocket(runDir);
    if (typeof socket === "string") throw new Error(`nobody listens: ${socket}`);
    return proveLink(socket, { runDir, clock });
  };
  return { runDir, link, driver, driverWith, ref: sandbox.ref, another, logged };
}

/** As one process of Holdfast sees it. */
async function lookIn(another: Awaited<ReturnType<typeof usedSandbox>>["another"]) {
  const lifecycle = another();
  try {
    const { sandbox } = await lifecycle.acquire(owner, sandboxSpec({ backend: "local" }));
    return await sandbox.run("echo $KEPT; pwd");
  } finally {
    await lifecycle.close();
  }
}

describeIf("cc", "S32 S36 a daemon of an earlier version, on this machine", () => {
  test("makes way when nobody needs it, and sessions go on, for several who come at once", async () => {
    const { runDir, link, another, logged } = await usedSandbox();
    await startOnHost("older", runDir);
    const before = await link();
    expect(before.version).toBe(0);
    await before[Symbol.asyncDispose]();
    const seen = await Promise.all([lookIn(another), lookIn(another), lookIn(another)]);
    for (const result of seen) expect(result).toMatchObject({ stdout: "yes\n/usr\n", exitCode: 0, restarted: false });
    await using after = await link();
    expect(after.version).toBe(1);
    expect(alive(before.pid)).toBe(false);
    expect(logged.map(({ message }) => message)).toContain("an idle daemon of an earlier version makes way for one of this version");
  });

  test("is left alone while something runs in it, with words that help, and makes way then", async () => {
    const { runDir, link, another } = await usedSandbox();
    await startOnHost("older", runDir);
    const theirs = await link();
    const call = await callThrough(theirs);
    const failure = await failureOf(lookIn(another));
    expect(failure).toMatchObject({
      code: "daemon-failed",
      message: expect.stringMatching(
        /earlier version of Holdfast \(.*version 0 .*this one 1\).* in use: a call, another process of Holdfast$/,
      ),
      hint: expect.stringMatching(/^wait until that has ended.*holdfast sandbox rm TASK/),
      facts: { protocol: 0, calls: 1 },
    });
    expect(alive(call.pid)).toBe(true);
    await call.end();
    // Also one that is only connected may begin something.
    expect(await failureOf(lookIn(another))).toMatchObject({ message: expect.stringMatching(/in use: another process of Holdfast$/) });
    await theirs[Symbol.asyncDispose]();
    expect(await lookIn(another)).toMatchObject({ stdout: "yes\n/usr\n" });
    await eventually(() => !alive(theirs.pid), "the older daemon had ended");
  });

  test("is ended with all that it runs when its sandbox is removed", async () => {
    const { runDir, link, driver, ref } = await usedSandbox();
    await startOnHost("older", runDir);
    const theirs = await link();
    const call = await callThrough(theirs);
    await driver.destroy(ref);
    expect(alive(call.pid)).toBe(false);
    // Its connections end a little before it does.
    await eventually(() => !alive(theirs.pid), "the daemon has ended");
  });

  test("that is all there is to start is not started again and again", async () => {
    const { runDir, driverWith, ref } = await usedSandbox();
    await startOnHost("older", runDir);
    const stale = driverWith(await buildDaemon("older"));
    expect(await failureOf(stale.connect(ref))).toMatchObject({
      code: "daemon-failed",
      message: expect.stringContaining("no holdfastd of this version"),
      hint: expect.stringContaining("holdfast doctor"),
    });
  });
});

describe("a daemon of a newer version", () => {
  describeIf("cc", "on this machine", () => {
    test("is refused, with what helps, and goes on", async () => {
      const { runDir, another, logged } = await usedSandbox();
      await startOnHost("newer", runDir);
      expect(await failureOf(lookIn(another))).toMatchObject({
        code: "daemon-failed",
        message: expect.stringMatching(/newer version of Holdfast \(.*version 2 .*this one 1\)/),
        hint: expect.stringContaining("use that version"),
      });
      expect(logged.map(({ message }) => message).join()).not.toContain("makes way");
      expect(await connectSocket(runDir)).toMatchObject({ destroyed: false });
    });
  });
});
