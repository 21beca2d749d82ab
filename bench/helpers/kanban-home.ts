/** @module A home with a board and a profile that goes away, and real dispatcher processes on it, for benchmarks. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type App, createApp } from "../../src/app/create-app.ts";
import { boardFiles } from "../../src/board/files.ts";
import type { Store } from "../../src/board/store.ts";

export const BOARD = "default";
export const PROFILE = "coder";

const PROGRAM = [process.execPath, "--min-semi-space-size=16", join(import.meta.dirname, "../../dist/holdfast.js")] as const;
const START_LIMIT_MS = 30_000;

export interface KanbanHome extends AsyncDisposable {
  readonly home: string;
  readonly database: string;
  readonly app: App;
  readonly store: Store;
  /** `holdfast kanban dispatch --watch` of the build, which ends with the home. */
  dispatch(): Promise<ChildProcess & { readonly pid: number }>;
  /** Until one of them leads. */
  led(): Promise<void>;
}

export interface KanbanHomeOptions {
  /** Of the profile. */
  readonly worker?: { readonly command: readonly string[]; readonly env?: Readonly<Record<string, string>> };
  readonly kanban?: Readonly<Record<string, unknown>>;
}

export async function openKanbanHome({ worker = { command: ["true"] }, kanban = {} }: KanbanHomeOptions = {}): Promise<KanbanHome> {
  const home = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
  const environment = { PATH: process.env.PATH, HOME: home, HOLDFAST_HOME: home };
  const app = await createApp({ environment, cwd: home });
  const { home: profileHome } = await app.profiles.create(PROFILE);
  // What is JSON is YAML as well.
  await writeFile(join(profileHome, "config.yaml"), JSON.stringify({ worker: { ...worker, sandbox: "none" } }));
  await writeFile(join(home, "config.yaml"), JSON.stringify({ kanban }));
  const { store } = await app.kanban();
  const children: ChildProcess[] = [];
  const log = join(home, "dispatchers.log");

  return {
    home,
    database: boardFiles(home).database,
    app,
    store,
    async dispatch() {
      const [program, ...args] = PROGRAM;
      const output = openSync(log, "a");
      const child = spawn(program, [...args, "kanban", "dispatch", "--watch"], {
        env: environment,
        cwd: home,
        stdio: ["ignore", output, output],
      });
      closeSync(output);
      children.push(child);
      await once(child, "spawn");
      return child as ChildProcess & { pid: number };
    },
    async led() {
      const limit = performance.now() + START_LIMIT_MS;
      while ((await store.leader(BOARD)) === null) {
        if (performance.now() > limit) throw new Error(`no dispatcher leads: ${readFileSync(log, "utf8").slice(-2000)}`);
        await pause(20);
      }
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) await end(child);
      await app.close();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}
