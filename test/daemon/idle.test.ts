import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FROM_CLIENT } from "../../src/sandbox/daemon/types.ts";
import { createWriter } from "../../src/sandbox/daemon/wire.ts";
import { type DaemonOptions, startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forEachTest } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createClient } from "./client.ts";
import { readEnded, u32 } from "./frames.ts";
import { alive, eventually, setClock } from "./machine.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describeIf("cc", "busy and idle", () => {
  const scratch = forEachTest(temporaryDirectory);

  /** A daemon whose clock stands where the test puts it, ahead of the real one. */
  const startWithClock = async (options: DaemonOptions = {}) => {
    const file = join(scratch.path, "clock");
    setClock(file, 0);
    const daemon = await startDaemon(scratch.path, { ...options, env: { HOLDFASTD_CLOCK: file } });
    const wakeUp = () =>
      void connect(daemon.socket)
        .on("error", () => {})
        .end();
    return {
      daemon,
      /** It waits for what it knew of before: a stranger at the door makes it look at the clock. */
      advanceTo(ms: number) {
        setClock(file, ms);
        wakeUp();
      },
    };
  };

  test("S29 status tells who uses the sandbox and what for", async () => {
    await using daemon = await startDaemon(scratch.path, { args: ["--idle-stop", "1000"] });
    await using client = await createClient(daemon, { label: "me" });
    expect(await client.status()).toMatchObject({ idleStop: 1000, leases: 1, calls: 0, processes: 0, lastUsedFor: "", labels: ["me"] });
    const call = await client.start("sleep 1000", { shown: "é".repeat(150) });
    await client.process("sleep 1000", { shown: "serve" });
    expect(await client.status()).toMatchObject({ calls: 1, processes: 1, ptys: 0, idle: 0, lastUsedFor: "process serve (me)" });
    await using other = await createClient(daemon, { label: "x".repeat(256) });
    await other.call("true", { shown: "y".repeat(300) });
    expect(await client.status()).toMatchObject({ leases: 2, lastUsedFor: `call ${"y".repeat(200)} (${"x".repeat(256)})` });
    call.send(FROM_CLIENT.kill, u32(0));
    await call.finish();
    expect(await client.status()).toMatchObject({ calls: 0, processes: 1, idle: 0 });
  });

  test("S29 only asking for the status is not use", async () => {
    await using daemon = await startDaemon(scratch.path);
    await using watcher = await createClient(daemon);
    await watcher.status();
    await eventually(async () => (await watcher.status()).idle > 0, "it is idle");
    const user = await createClient(daemon);
    expect((await watcher.status()).idle).toBe(0);
    await user[Symbol.asyncDispose]();
    await eventually(async () => (await watcher.status()).idle > 0, "it is idle again");
  });

  test("S29 an idle daemon ends itself, although somebody watches it", async () => {
    const { daemon, advanceTo } = await startWithClock({ args: ["--idle-stop", "60"] });
    const watcher = await createClient(daemon);
    await watcher.status();
    advanceTo(50_000);
    expect(await watcher.status()).toMatchObject({ idle: expect.toSatisfy((ms) => ms >= 50_000 && ms < 60_000) });
    advanceTo(61_000);
    expect(await daemon.exited).toBe(0);
    await watcher.link.closed;
    await daemon.stop();
  });

  test("S29 a lease, a process, a pty and what is left in the background keep it awake, each until it ends", async () => {
    const { daemon, advanceTo } = await startWithClock({ args: ["--idle-stop", "60"] });
    const client = await createClient(daemon);
    let now = 0;
    const muchLater = () => {
      now += HOUR_MS;
      advanceTo(now);
    };
    muchLater();
    const left = Number((await client.call("setsid sleep 1000 >/dev/null 2>&1 & echo $!")).stdout);
    const { id } = await client.process("sleep 1000", { flags: 4 });
    await client[Symbol.asyncDispose]();
    muchLater();
    const again = await createClient(daemon);
    expect(await again.status()).toMatchObject({ processes: 1, ptys: 1, idle: 0 });
    await again.ask(FROM_CLIENT.killProcess, createWriter().str(id).u32(0).done());
    await again[Symbol.asyncDispose]();
    muchLater();
    const watcher = await createClient(daemon);
    await watcher.status();
    expect(await watcher.status()).toMatchObject({ processes: 0, calls: 0, idle: 0 });
    expect(alive(left)).toBe(true);
    process.kill(left, "SIGKILL");
    await watcher[Symbol.asyncDispose]();
    // Being closed was use, at a moment that only the daemon knows.
    await eventually(() => {
      muchLater();
      return !alive(daemon.pid);
    }, "it has ended");
    await daemon.stop();
  });

  test("S29 the idle stop can be changed, and taken back", async () => {
    const { daemon, advanceTo } = await startWithClock({ args: ["--idle-stop", "60"] });
    const client = await createClient(daemon);
    await client.ask(FROM_CLIENT.idleStop, u32(0));
    await client[Symbol.asyncDispose]();
    advanceTo(HOUR_MS);
    const again = await createClient(daemon);
    expect((await again.status()).idleStop).toBe(0);
    await again.ask(FROM_CLIENT.idleStop, u32(5));
    await again[Symbol.asyncDispose]();
    let now = HOUR_MS;
    await eventually(() => {
      now += HOUR_MS;
      advanceTo(now);
      return !alive(daemon.pid);
    }, "it has ended");
    await daemon.stop();
  });

  test("timers of a whole day fire when their time has come, and not before", async () => {
    const { daemon, advanceTo } = await startWithClock();
    await using client = await createClient(daemon);
    const timeouts = Array.from({ length: 24 }, (_, hour) => (hour + 1) * HOUR_MS);
    const calls = await Promise.all(timeouts.map((timeout) => client.start(["sleep", "1000"], { timeout, grace: 0 })));
    for (const [hour, call] of calls.entries()) {
      advanceTo((hour + 1) * HOUR_MS - 60_000);
      expect((await client.status()).calls).toBe(24 - hour);
      advanceTo((hour + 1) * HOUR_MS + 1000);
      expect(readEnded((await call.finish()).last.payload)).toMatchObject({ cause: 1 });
    }
    expect((await client.status()).uptime).toBeGreaterThan(DAY_MS);
    await client[Symbol.asyncDispose]();
    await daemon.stop();
  });

  test("a jump of the wall clock fires no timeout", async () => {
    const library = join(scratch.path, "jump.so");
    const jump = join(scratch.path, "jump");
    await writeFile(join(scratch.path, "jump.c"), JUMPING_CLOCK);
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, join(scratch.path, "jump.c"), "-ldl"]);
    await writeFile(jump, "0");
    // The sanitizer wants to be the first library; it only has to be there.
    const env = {
      LD_PRELOAD: library,
      JUMP_FILE: jump,
      ASAN_OPTIONS: `verify_asan_link_order=0:log_path=${join(scratch.path, "sanitizer")}`,
    };
    await using daemon = await startDaemon(scratch.path, { args: ["--idle-stop", "600"], env });
    await using client = await createClient(daemon);
    const call = await client.start(["sleep", "1000"], { timeout: 600_000, env: [] });
    const before = await client.process(["true"]);
    for (const hours of [10, -10]) {
      await writeFile(jump, `${hours * 3600}`);
      const { id } = await client.process(["true"]);
      const [first, last] = (await client.processes()).filter((entry) => [before.id, id].includes(entry.id));
      // The clock has jumped indeed.
      expect(Math.round(((last?.startedAt ?? 0) - (first?.startedAt ?? 0)) / HOUR_MS)).toBe(hours);
      expect(await client.status()).toMatchObject({ calls: 1, uptime: expect.toSatisfy((ms) => ms < HOUR_MS) });
    }
    call.send(FROM_CLIENT.kill, u32(0));
    expect(readEnded((await call.finish()).last.payload)).toMatchObject({ cause: 2 });
  });
});

/** Adds the seconds in a file to the time of day, and to no other clock. */
const JUMPING_CLOCK = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  FILE *file = clock == CLOCK_REALTIME ? fopen(getenv("JUMP_FILE"), "re") : NULL;
  long ahead = 0;
  if (file && fscanf(file, "%ld", &ahead) == 1) time->tv_sec += ahead;
  if (file) fclose(file);
  return result;
}
`;
