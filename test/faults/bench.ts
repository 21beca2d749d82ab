/** @module A home with a board, and real dispatchers, supervisors and workers on it, which a test can kill, pause and start again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { systemClock } from "../../src/base/clock.ts";
import { findTree, killTree } from "../../src/base/process-tree.ts";
import { boardFiles } from "../../src/board/files.ts";
import { openStore, type Store } from "../../src/board/store.ts";
import type { DispatchSettings } from "../../src/dispatcher/settings.ts";
import { type Bell, createBell } from "../helpers/bell.ts";
import { COMPILE_CACHE, PROGRAM } from "../helpers/cli.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { defaultSettings, PATH } from "../workers/bench.ts";
import type { DispatcherProcess } from "./dispatcher-process.ts";

const CLOCK = ["--import", join(import.meta.dirname, "shifted-clock.ts")];

export interface DispatcherHandle {
  readonly child: ChildProcess;
  readonly pid: number;
  /** What it has said so far. */
  readonly lines: readonly string[];
  /** Rings with each line. */
  readonly said: Bell;
  /** Resolves when it is gone, however it is ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface FaultBench extends AsyncDisposable {
  readonly home: string;
  readonly store: Store;
  readonly database: string;
  startDispatcher(): DispatcherHandle;
  /** Sets the wall clock of every process but the test's. */
  setClock(ms: number): Promise<void>;
  /** Every living process that came from here, dispatchers included. */
  processes(): number[];
}

export interface FaultBenchOptions {
  /** @default a file of SQLite in the home */
  readonly database?: string | undefined;
  readonly settings?: Partial<DispatchSettings>;
  readonly workers: DispatcherProcess["workers"];
  readonly env?: Readonly<Record<string, string>>;
}

/** Short, so that what must end by itself does so while a test waits. */
const SHORT = { claimTtlMs: 4000, graceMs: 100, backoffMs: 0, cooldownMs: 100, intervalMs: 1000, reconcile: true } as const;

export async function openFaultBench({ database, settings, workers, env = {} }: FaultBenchOptions): Promise<FaultBench> {
  const directory = await temporaryDirectory();
  const home = directory.path;
  const location = database ?? boardFiles(home).database;
  const clockFile = join(home, "clock");
  await mkdir(boardFiles(home).root, { recursive: true });
  await writeFile(clockFile, "0");
  const store = await openStore(location);
  const everywhere = { ...PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, FAULTS_CLOCK: clockFile, FAULTS_DIR: join(home, "faults"), ...env };
  const config: DispatcherProcess = {
    home,
    database: location,
    settings: { ...defaultSettings(), ...SHORT, ...settings },
    workers,
    env: everywhere,
    program: [process.execPath, ...CLOCK, PROGRAM],
  };
  const selector = { variable: "HOLDFAST_HOME", value: home };
  return {
    home,
    store,
    database: location,
    startDispatcher: () => startDispatcher(config),
    async setClock(ms) {
      // Nobody must read it half written.
      await writeFile(`${clockFile}.new`, String(ms));
      await rename(`${clockFile}.new`, clockFile);
    },
    processes: () => findTree(selector).map(({ pid }) => pid),
    async [Symbol.asyncDispose]() {
      await killTree(selector, { clock: systemClock, graceMs: 0 });
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

function startDispatcher(config: DispatcherProcess): DispatcherHandle {
  const args = [...CLOCK, join(import.meta.dirname, "dispatcher-process.ts"), JSON.stringify(config)];
  const env = { ...config.env, HOLDFAST_HOME: config.home };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const said = createBell();
  const exited = once(child, "exit");
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    said.ring();
  });
  return {
    child,
    pid: child.pid ?? 0,
    lines,
    said,
    async end(signal) {
      child.kill(signal);
      await exited;
    },
  };
}
