/** @module The command line on a real engine, in a home of its own; all that it made is gone when the test has ended. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type App, createApp } from "../../src/app/create-app.ts";
import { systemClock } from "../../src/base/clock.ts";
import { type CliResult, createTestCli, type TestCli } from "../helpers/cli.ts";
import type { EngineContainer, TestEngine } from "../helpers/engine.ts";
import { engineVariables } from "../helpers/engine-harness.ts";
import { LONG } from "./engine-bench.ts";

export interface AuditLine {
  readonly time: string;
  readonly what: string;
  readonly sandbox: string;
  readonly backend: string;
  readonly task: string;
  readonly reason: string;
  readonly by: { readonly program: string; readonly pid: number; readonly host: string };
}

export interface CliBench {
  readonly cli: TestCli;
  readonly engine: TestEngine;
  readonly env: Readonly<Record<string, string>>;
  /** In this process. */
  run(...args: string[]): Promise<CliResult>;
  /** Must succeed, with nothing on standard error. */
  json<T = unknown>(...args: string[]): Promise<T>;
  /** What a command in the sandbox prints, run by a process of its own. */
  exec(...args: string[]): Promise<string>;
  containers(): Promise<EngineContainer[]>;
  /** Where the sandbox of a task is on the host. */
  placeOf(task: string): Promise<string>;
  audited(): Promise<AuditLine[]>;
  /** The same installation, that many seconds from now. */
  later(seconds: number): Promise<App>;
}

export async function cliBench(engine: TestEngine, variables: Readonly<Record<string, string>> = {}): Promise<CliBench> {
  const cli = await createTestCli();
  const env = { ...engineVariables(engine), ...variables };
  const install = async () => (await readFile(join(cli.home, "install-id"), "utf8")).trim();
  const containers = async () => engine.containers(`holdfast-install=${await install()}`);
  const apps: App[] = [];
  onTestFinished(async () => {
    await Promise.all(apps.map((app) => app.close()));
    const ids = (await containers().catch(() => [])).map(({ id }) => id);
    if (ids.length > 0) await engine.run(["rm", "-f", "-v", ...ids]);
    await cli[Symbol.asyncDispose]();
  }, LONG);
  return {
    cli,
    engine,
    env,
    run: (...args) => cli.run(args, { env }),
    json: (...args) => cli.json(args, { env }),
    async exec(...args) {
      const { status, stdout, stderr } = await cli.runProcess(["exec", ...args], { env });
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      return stdout.trim();
    },
    containers,
    placeOf: async (task) => join(cli.home, "sandboxes/docker", await install(), "default", task),
    async audited() {
      const lines = (await readFile(join(cli.home, "audit.log"), "utf8")).trim().split("\n");
      return lines.map((line) => JSON.parse(line) as AuditLine);
    },
    async later(seconds) {
      const clock = { ...systemClock, now: () => systemClock.now() + seconds * 1000 };
      const app = await createApp({ environment: { ...cli.env, ...env }, cwd: cli.directory, clock, program: "the test" });
      apps.push(app);
      return app;
    },
  };
}
