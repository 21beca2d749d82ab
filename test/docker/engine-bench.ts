/** @module Drivers and lifecycles on a real engine, with an install of their own; all that they made is gone when the test has ended. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished } from "vitest";
import type { AuditEntry } from "../../src/base/audit.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { randomId } from "../../src/base/ids.ts";
import { createLogger, type LogRecord } from "../../src/base/log.ts";
import { createLifecycle, type Lifecycle, type OnDrift } from "../../src/lifecycle/lifecycle.ts";
import type { Owner, SandboxDriver } from "../../src/sandbox/driver.ts";
import type { DriverSettings } from "../../src/sandbox/driver-context.ts";
import type { SandboxSpec } from "../../src/sandbox/spec.ts";
import { ENGINE_LIMIT_MS, type EngineContainer, type TestEngine, testEngine } from "../helpers/engine.ts";
import { type EngineDriverOptions, engineDriver } from "../helpers/engine-harness.ts";
import { testPodman } from "../helpers/podman.ts";
import { describeIf } from "../helpers/requirements.ts";
import { sandboxSpec } from "../helpers/sandbox-spec.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

/** For tests that make several containers on a busy machine. */
export const LONG = 120_000;

/** One suite on each engine, or on the one that vitest's project is for. */
export function describeEngines(title: string, body: (engine: () => TestEngine) => void): void {
  const engines = [
    ["docker", "dockerd", testEngine],
    ["podman", "podman", testPodman],
  ] as const;
  for (const [name, need, open] of engines.filter(([each]) => (process.env.TEST_ENGINE ?? each) === each)) {
    describeIf(["cc", "mmdebstrap", need], `${title}, ${name}`, () => {
      let engine: TestEngine;
      beforeAll(async () => {
        engine = await open();
      }, ENGINE_LIMIT_MS);
      body(() => engine);
    });
  }
}

export interface BenchDriverOptions extends Pick<EngineDriverOptions, "daemonProgram"> {
  readonly settings?: Partial<DriverSettings>;
  readonly variables?: Readonly<Record<string, string>>;
  /** What the driver takes for the time of day. It waits by the system's clock all the same. */
  readonly now?: () => number;
}

export interface EngineBench {
  readonly engine: TestEngine;
  /** On the host; sandboxes are in `sandboxes` below it. */
  readonly directory: string;
  readonly logged: LogRecord[];
  /** Each one is another process, as far as the others can tell. */
  driver(options?: BenchDriverOptions): Promise<SandboxDriver>;
  lifecycle(driver: SandboxDriver, options?: { clock?: Clock; idleMs?: number; onDrift?: OnDrift }): Lifecycle;
  readonly audited: AuditEntry[];
  /** A lifecycle that shares nothing with the others but the engine and the directory. */
  process(): Promise<Lifecycle>;
  /** The directory of a sandbox on the host. */
  placeOf(task?: string): string;
  owner(task?: string, profile?: string): Owner;
  /** All that the engine has of this bench. */
  containers(): Promise<EngineContainer[]>;
  /** What a command of the engine prints; a failure fails the test. */
  ask(...args: string[]): Promise<string>;
  inspect(id: string): Promise<Inspected>;
}

export interface Inspected {
  readonly Config: {
    readonly Env: string[] | null;
    readonly Labels: Record<string, string>;
    readonly User: string;
    readonly Image: string;
  };
  readonly HostConfig: {
    readonly CapAdd: string[] | null;
    readonly CapDrop: string[] | null;
    readonly SecurityOpt: string[] | null;
    readonly PidsLimit: number;
    readonly Memory: number;
    readonly NanoCpus: number;
    readonly Tmpfs: Record<string, string> | null;
  };
  readonly Mounts: { readonly Type: string; readonly Source: string; readonly Destination: string; readonly RW: boolean }[];
}

export async function engineBench(engine: TestEngine): Promise<EngineBench> {
  const place = await temporaryDirectory();
  const install = `bench-${randomId(8)}`;
  const logged: LogRecord[] = [];
  const log = createLogger({ clock: systemClock, level: "debug", sink: (record) => logged.push(record) });
  const audited: AuditEntry[] = [];
  const audit = (entry: AuditEntry) => void audited.push(entry);
  const lifecycles: Lifecycle[] = [];
  const containers = () => engine.containers(`holdfast-install=${install}`);
  onTestFinished(async () => {
    await Promise.all(lifecycles.map((lifecycle) => lifecycle.close()));
    const ids = (await containers()).map(({ id }) => id);
    if (ids.length > 0) await engine.run(["rm", "-f", "-v", ...ids]);
    await rm(place.path, { recursive: true, force: true });
  }, LONG);
  const ask = async (...args: string[]) => {
    const { code, stdout, stderr } = await engine.run(args);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  const driver: EngineBench["driver"] = ({ now, ...options } = {}) =>
    engineDriver(engine, place.path, { log, audit, clock: now ? { ...systemClock, now } : systemClock, ...options });
  const lifecycle: EngineBench["lifecycle"] = (over, { clock = systemClock, idleMs = 300_000, onDrift = "warn" } = {}) => {
    const limits = { keepChars: 50_000, spillBytes: 0, spillDirectory: place.path };
    const made = createLifecycle({
      driver: over,
      clock,
      log,
      idleMs,
      onDrift,
      audit,
      limits,
      defaultTimeoutMs: 60_000,
      startDirectory: "/workspace",
    });
    lifecycles.push(made);
    return made;
  };
  return {
    engine,
    directory: place.path,
    logged,
    audited,
    driver,
    lifecycle,
    process: async () => lifecycle(await driver()),
    placeOf: (task = "default") => join(place.path, "sandboxes/docker", install, "default", task),
    owner: (task = "default", profile = "default") => ({ install, profile, task }),
    containers,
    ask,
    inspect: async (id) => (JSON.parse(await ask("container", "inspect", id)) as [Inspected])[0],
  };
}

/** As `specFromConfig` makes it with the defaults. */
export function containerSpec(changes: Partial<SandboxSpec> = {}): SandboxSpec {
  return sandboxSpec({ backend: "docker", limits: { cpu: 1, memoryMb: 512, diskMb: 0, pids: 256, strict: false }, ...changes });
}
