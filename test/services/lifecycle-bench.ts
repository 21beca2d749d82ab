/** @module A lifecycle over a real driver in a directory of its own, with what tests need to watch and disturb it. */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import type { AuditEntry } from "../../src/base/audit.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { createLogger, type LogRecord } from "../../src/base/log.ts";
import { createLifecycle, type Lease, type Lifecycle, type OnDrift } from "../../src/lifecycle/lifecycle.ts";
import type { CallResult } from "../../src/sandbox/call.ts";
import type { Owner, SandboxDriver, SandboxRef } from "../../src/sandbox/driver.ts";
import type { DriverFactory } from "../../src/sandbox/driver-context.ts";
import { createDriver as createMemoryDriver } from "../../src/sandbox/drivers/memory/driver.ts";
import { driverContext } from "../helpers/driver-context.ts";
import { sandboxSpec } from "../helpers/sandbox-spec.ts";

export interface BenchOptions {
  createDriver?: DriverFactory;
  /** What the lifecycle takes for time. Drivers always get the system's, since they wait for real processes. */
  clock?: Clock;
  idleMs?: number;
  onDrift?: OnDrift;
  strictDrift?: boolean;
  decorate?: (driver: SandboxDriver) => SandboxDriver;
}

export interface Bench extends AsyncDisposable {
  readonly lifecycle: Lifecycle;
  /** The driver as the lifecycle sees it, and what it was asked to do: `create t1`, `connect t1`, `destroy t1`. */
  readonly driver: SandboxDriver;
  readonly asked: string[];
  /** How often connections were opened and closed. */
  readonly lines: { opened: number; closed: number };
  readonly logged: LogRecord[];
  readonly audited: AuditEntry[];
  /** A second driver object on the same sandboxes: another process, as far as the first can tell. */
  anotherDriver(): SandboxDriver;
  anotherLifecycle(): Lifecycle;
  /** The same over any driver. */
  lifecycleOver(driver: SandboxDriver): Lifecycle;
  existing(task?: string): Promise<SandboxRef[]>;
}

/** Cleans up after itself when it is disposed. */
export function openBench({
  createDriver = createMemoryDriver,
  clock = systemClock,
  idleMs = 300_000,
  onDrift = "warn",
  strictDrift = false,
  decorate,
}: BenchOptions = {}): Bench {
  const root = mkdtempSync(join(tmpdir(), "holdfast-lifecycle-"));
  const startDirectory = join(root, "work");
  mkdirSync(startDirectory);
  const logged: LogRecord[] = [];
  const audited: AuditEntry[] = [];
  const log = createLogger({ clock, level: "debug", sink: (record) => logged.push(record) });
  const hostEnv = { PATH: process.env.PATH ?? "", HOME: root };
  const bare = () => createDriver(driverContext({ sandboxDir: join(root, "sandboxes"), hostEnv, log }));
  const first = bare();
  const asked: string[] = [];
  const lines = { opened: 0, closed: 0 };
  const watched = watch(first, asked, lines);
  const driver = decorate ? decorate(watched) : watched;
  const limits = { keepChars: 50_000, spillBytes: 0, spillDirectory: root };
  const lifecycleOver = (over: SandboxDriver) =>
    createLifecycle({
      driver: over,
      clock,
      log,
      idleMs,
      onDrift,
      strictDrift,
      audit: (entry) => audited.push(entry),
      limits,
      defaultTimeoutMs: 60_000,
      startDirectory,
    });
  return {
    lifecycle: lifecycleOver(driver),
    driver,
    asked,
    lines,
    logged,
    audited,
    anotherDriver: bare,
    anotherLifecycle: () => lifecycleOver(driver),
    lifecycleOver,
    existing: (task) => first.list(task === undefined ? { install: INSTALL } : ownerOf(task)),
    async [Symbol.asyncDispose]() {
      for (const ref of await first.list({ install: INSTALL })) await first.destroy(ref);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The same, disposed when the test has ended. */
export function createBench(options?: BenchOptions): Bench {
  const bench = openBench(options);
  onTestFinished(() => bench[Symbol.asyncDispose]());
  return bench;
}

function watch(driver: SandboxDriver, asked: string[], lines: Bench["lines"]): SandboxDriver {
  return {
    ...driver,
    create(owner, ...rest) {
      asked.push(`create ${owner.task}`);
      return driver.create(owner, ...rest);
    },
    async connect(ref, ...rest) {
      asked.push(`connect ${ref.owner.task}`);
      const connection = await driver.connect(ref, ...rest);
      lines.opened++;
      return {
        ...connection,
        [Symbol.asyncDispose]() {
          lines.closed++;
          return connection[Symbol.asyncDispose]();
        },
      };
    },
    destroy(ref, ...rest) {
      asked.push(`destroy ${ref.owner.task}`);
      return driver.destroy(ref, ...rest);
    },
  };
}

const INSTALL = "test-install";

export function ownerOf(task: string): Owner {
  return { install: INSTALL, profile: "default", task };
}

export const PERSISTENT = sandboxSpec({ persist: true });
export const FLEETING = sandboxSpec({ persist: false, keepFiles: false });

export interface OpenCall {
  readonly result: Promise<CallResult>;
  finish(): void;
}

/** A call that is certainly running, until it is told to finish. */
export async function openCall(lease: Lease): Promise<OpenCall> {
  const stdin = new PassThrough();
  const { promise: running, resolve } = Promise.withResolvers<void>();
  const result = lease.sandbox.run("echo running; while read -r _; do :; done", { stdin, onOutput: () => resolve() });
  // A failure is for whoever awaits the result.
  const over = result.then(
    () => {},
    () => {},
  );
  await Promise.race([running, over]);
  return { result, finish: () => void stdin.end() };
}

export interface Gate {
  /** Resolves when somebody has come to the gate. */
  readonly reached: Promise<void>;
  pass(): Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    pass() {
      reached.resolve();
      return opened.promise;
    },
    open: () => opened.resolve(),
  };
}
