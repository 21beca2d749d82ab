/** @module A sandbox on this host in which a holdfastd of our own sources runs, seen through as many connections as a test likes. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import type { Connection, SandboxRef } from "../../src/sandbox/driver.ts";
import { createDriver } from "../../src/sandbox/drivers/local/driver.ts";
import { createSandbox, type Sandbox } from "../../src/sandbox/sandbox.ts";
import { buildDaemon, type DaemonBuild, sanitizerOptions, sanitizerReports } from "./daemon.ts";
import { driverContext } from "./driver-context.ts";
import { sandboxSpec } from "./sandbox-spec.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

export interface DaemonSandbox extends AsyncDisposable {
  readonly ref: SandboxRef;
  /** Sessions begin here. */
  readonly directory: string;
  /** For whatever else a test needs. */
  readonly scratch: string;
  open(options?: { clock?: Clock }): Promise<{ connection: Connection; sandbox: Sandbox }>;
}

/** Without a build, a sandbox without a daemon. */
export async function daemonSandbox({ build }: { build: DaemonBuild | null }): Promise<DaemonSandbox> {
  const temporary = await temporaryDirectory();
  const inside = (name: string) => join(temporary.path, name);
  const [home, work, scratch, spillDirectory] = [inside("home"), inside("work"), inside("scratch"), inside("spill")];
  await Promise.all([home, work, scratch, spillDirectory].map((path) => mkdir(path)));
  const hostEnv = { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: home, LANG: "C.UTF-8", ...sanitizerOptions(temporary.path) };
  const daemonProgram = build && (await buildDaemon(build));
  const driver = createDriver(driverContext({ sandboxDir: inside("sandboxes"), hostEnv, daemonProgram }));
  const ref = await driver.create({ install: "i", profile: "p", task: "t" }, sandboxSpec({ backend: "local" }));
  const opened: Connection[] = [];
  const limits = { keepChars: 50_000, spillBytes: 1_000_000, spillDirectory };
  return {
    ref,
    directory: work,
    scratch,
    async open({ clock = systemClock } = {}) {
      const connection = await driver.connect(ref);
      opened.push(connection);
      return { connection, sandbox: createSandbox({ ref, connection, clock, limits, defaultTimeoutMs: 100_000, startDirectory: work }) };
    },
    async [Symbol.asyncDispose]() {
      for (const connection of opened) await connection[Symbol.asyncDispose]();
      await driver.destroy(ref);
      const reports = await sanitizerReports(temporary.path);
      await temporary[Symbol.asyncDispose]();
      if (reports !== "") throw new Error(reports);
    },
  };
}
