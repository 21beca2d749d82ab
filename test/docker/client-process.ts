/** @module Starts `client.ts` as a process of its own, tells it what to do, and kills it as nothing can prepare for. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { expect, onTestFinished } from "vitest";
import { holdfastVersion } from "../../src/base/version.ts";
import { buildDaemon } from "../helpers/daemon.ts";
import type { ClientConfig, Order, Report } from "./client.ts";

export type Life = Order & { readonly do: "live" };

import type { EngineBench } from "./engine-bench.ts";

const END_LIMIT_MS = 60_000;
const SOURCE = join(import.meta.dirname, "client.ts");

export interface Client {
  /** All that it has said so far. */
  readonly reports: readonly Report[];
  order(order: Order): void;
  /** What it says next that nobody has waited for yet; null when it has ended instead. */
  next(): Promise<Report | null>;
  /** The report with which its order ended, well or not; null when it has ended itself. */
  untilOver(): Promise<Report | null>;
  /** With SIGKILL, and with it the engine's clients that it runs, or not. Returns the ids of those that are left. */
  kill(options?: { children: boolean }): Promise<number[]>;
  /** Ends it by the end of its input. */
  end(): Promise<void>;
}

/** Resolves when it is ready for orders. */
export async function startClient({ engine, directory }: EngineBench, { binary = engine.binary } = {}): Promise<Client> {
  const config: ClientConfig = {
    binary,
    env: engine.env,
    sandboxDir: join(directory, "sandboxes"),
    daemonProgram: await buildDaemon("release"),
  };
  const child = spawn(process.execPath, [await clientProgram(directory), JSON.stringify(config)], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(directory, "compiled") },
  });
  const closed = once(child, "close");
  // One that was killed does not read any more.
  child.stdin.on("error", () => {});
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  const reports: Report[] = [];
  const lines = createInterface({ input: child.stdout });
  const unread = lines[Symbol.asyncIterator]();
  lines.on("line", (line) => reports.push(JSON.parse(line) as Report));
  const client: Client = {
    reports,
    order: (order) => void child.stdin.write(`${JSON.stringify(order)}\n`),
    async next() {
      const { done, value } = await unread.next();
      return done ? null : (JSON.parse(value) as Report);
    },
    async untilOver() {
      for (;;) {
        const report = await client.next();
        if (report === null || report.step === "removed" || report.step === "failed") return report;
      }
    },
    async kill({ children = false } = { children: false }) {
      const left = await killClient(child, children);
      await closed;
      return left;
    },
    async end() {
      child.stdin.end();
      await closed;
    },
  };
  const first = await client.next();
  if (first?.step !== "ready") throw new Error("the client has ended before it was ready");
  return client;
}

const programs = new Map<string, Promise<string>>();

/** One file starts in a third of the time that the sources take, and there are hundreds of starts. */
function clientProgram(directory: string): Promise<string> {
  const outfile = join(directory, "client.mjs");
  const made = async () => {
    const define = { HOLDFAST_VERSION: JSON.stringify(holdfastVersion()) };
    await build({ entryPoints: [SOURCE], outfile, define, bundle: true, platform: "node", format: "esm" });
    return outfile;
  };
  const program = programs.get(directory) ?? made();
  programs.set(directory, program);
  return program;
}

/** Stopped first: it must not start another one between the look and the kill. */
async function killClient(child: ChildProcess, withChildren: boolean): Promise<number[]> {
  const { pid } = child;
  if (pid === undefined || !child.kill("SIGSTOP")) return [];
  const children = await childrenOf(pid);
  child.kill("SIGKILL");
  if (!withChildren) return children;
  for (const id of children) endProcess(id);
  return [];
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const parents = await Promise.all(pids.map(parentOf));
  return pids.filter((_, index) => parents[index] === parent).map(Number);
}

/** Null when there is no such process, or it has ended and was not collected. */
async function parentOf(pid: number | string): Promise<number | null> {
  // ENOENT or ESRCH: it has ended.
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const [, state, parent] = /^.*\) (\S) (\d+)/s.exec(stat) ?? [];
  return state === undefined || state === "Z" ? null : Number(parent);
}

export async function untilEnded(pids: readonly number[]): Promise<void> {
  for (const pid of pids) await expect.poll(() => parentOf(pid), { timeout: END_LIMIT_MS }).toBeNull();
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // ESRCH: it has ended by itself.
  }
}
