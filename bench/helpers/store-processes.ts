/** @module Processes that each have a store on one database, and do the same at once. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface StoreProcesses extends AsyncDisposable {
  /** What each of them answers, and how long it took until the last one had. */
  all(command: string): Promise<{ readonly answers: readonly (readonly string[])[]; readonly seconds: number }>;
}

export async function openStoreProcesses(location: string, count: number): Promise<StoreProcesses> {
  const processes = Array.from({ length: count }, () => start(location));
  await Promise.all(processes.map(({ answer }) => answer()));
  return {
    async all(command) {
      const startedAt = performance.now();
      for (const { child } of processes) child.stdin.write(`${command}\n`);
      const answers = await Promise.all(processes.map(({ answer }) => answer()));
      return { answers, seconds: (performance.now() - startedAt) / 1000 };
    },
    async [Symbol.asyncDispose]() {
      for (const { child } of processes) child.stdin.end();
      await Promise.all(processes.map(({ ended }) => ended));
    },
  };
}

function start(location: string) {
  const child = spawn(process.execPath, [join(import.meta.dirname, "store-process.ts"), location], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<readonly string[]> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error("a process with a store has ended: see what it said");
    return JSON.parse(value) as string[];
  };
  return { child, ended, answer };
}
