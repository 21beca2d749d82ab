/** @module What the kernel says about processes, for tests that must not take the daemon's word for it. */
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../src/base/clock.ts";

const LIMIT_MS = 20_000;

interface Stat {
  readonly state: string;
  readonly parent: number;
}

export function alive(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== undefined && !"ZX".includes(stat.state);
}

export function childrenOf(pid: number): number[] {
  return pids().filter((other) => statOf(other)?.parent === pid);
}

export function zombiesOf(pid: number): number[] {
  return childrenOf(pid).filter((child) => statOf(child)?.state === "Z");
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** In KiB. */
export function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

/** Resolves when the condition holds; what happens in another process tells nobody. */
export async function eventually(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const limit = systemClock.monotonic() + LIMIT_MS;
  while (!(await condition())) {
    if (systemClock.monotonic() > limit) throw new Error(`it never came about that ${what}`);
    await pause(10);
  }
}

/** Puts the clock of a debug build ahead, in one step: an empty file would put it back for a moment. */
export function setClock(file: string, aheadMs: number): void {
  writeFileSync(`${file}.new`, `${aheadMs}`);
  renameSync(`${file}.new`, file);
}

function pids(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program stands in brackets and may hold anything.
    const [state = "", parent] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state, parent: Number(parent) };
  } catch {
    // ENOENT or ESRCH: it has ended.
    return undefined;
  }
}
