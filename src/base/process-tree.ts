/** @module Finding and ending every process that came from one of ours, wherever it moved to. */
import { readdirSync, readFileSync } from "node:fs";
import { type Clock, delay } from "./clock.ts";
import { HoldfastError, systemCode } from "./errors.ts";

export interface HostProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since the boot: tells a process from a later one with the same id. */
  readonly startedAt: string;
  readonly command: string;
}

/** Which processes to look for: those that carry a variable, and, with `root`, all that descends from that process. */
export interface TreeSelector {
  readonly variable: string;
  readonly value: string;
  readonly root?: number;
  /** The root has ended, so a process that has its number now is a stranger, and so is all that came from it. */
  readonly rootEnded?: boolean;
}

const POLL_MS = 10;
const KILL_LIMIT_MS = 5_000;
// The 22nd field of /proc/PID/stat, counted from the one behind the command.
const START_TIME_FIELD = 19;

/**
 * The variable finds what moved to its own session or was orphaned (`setsid`, double forks, `nohup`), the descent finds what emptied its
 * environment. `known` are processes of the tree that were found before: they and what comes from them stay in it, although a parent that
 * linked them to it may have ended. Never includes this process or one it runs in, so that a sandbox can be removed from inside.
 */
export function findTree({ variable, value, root, rootEnded = false }: TreeSelector, known: Iterable<HostProcess> = []): HostProcess[] {
  const all = listProcesses();
  const byPid = new Map(all.map((entry) => [entry.pid, entry]));
  const ours = ancestors(process.pid, byPid);
  const mark = `${variable}=${value}`;
  const marked = all.filter(({ pid }) => readEnvironment(pid).includes(mark)).map(({ pid }) => pid);
  const roots = new Set(root === undefined || (rootEnded && byPid.has(root)) ? [] : [root]);
  for (const { pid, startedAt } of known) {
    if ((byPid.get(pid)?.startedAt ?? startedAt) === startedAt) roots.add(pid);
    else roots.delete(pid);
  }
  const heads = new Set([...roots, ...marked]);
  const belongs = ({ pid, group, session }: HostProcess) =>
    roots.has(group) || roots.has(session) || [...ancestors(pid, byPid)].some((ancestor) => heads.has(ancestor));
  return all.filter((entry) => !ours.has(entry.pid) && belongs(entry));
}

/** The process of that number, unless it has ended. */
export function findProcess(pid: number): HostProcess | null {
  return readProcess(String(pid));
}

/** Only those that carry the variable themselves. */
export function findMarked({ variable, value }: TreeSelector): HostProcess[] {
  return listProcesses().filter(({ pid }) => readEnvironment(pid).includes(`${variable}=${value}`));
}

/** This process, or one that it runs in, carries the variable. */
export function isInside({ variable, value }: TreeSelector): boolean {
  const byPid = new Map(listProcesses().map((entry) => [entry.pid, entry]));
  return [...ancestors(process.pid, byPid)].some((pid) => readEnvironment(pid).includes(`${variable}=${value}`));
}

/** TERM to all, time to comply, then KILL until nothing is left; processes are frozen first, so that none can fork away meanwhile. */
export async function killTree(selector: TreeSelector, { clock, graceMs }: { clock: Clock; graceMs: number }): Promise<void> {
  const known = new Map<number, HostProcess>();
  const look = (): HostProcess[] => {
    const found = findTree(selector, known.values());
    for (const entry of found) known.set(entry.pid, entry);
    return found;
  };
  const found = look();
  signalAll(found, "SIGTERM");
  signalAll(found, "SIGCONT");
  const graceEnd = clock.monotonic() + graceMs;
  while (look().length > 0 && clock.monotonic() < graceEnd) await delay(clock, POLL_MS);
  const end = clock.monotonic() + KILL_LIMIT_MS;
  for (let left = look(); left.length > 0; left = look()) {
    if (clock.monotonic() > end) {
      const pids = left.map((entry) => entry.pid);
      throw new HoldfastError("internal", `processes ${pids.join(", ")} could not be ended`, { facts: { pids } });
    }
    signalAll(left, "SIGSTOP");
    signalAll(left, "SIGKILL");
    await delay(clock, POLL_MS);
  }
}

function signalAll(processes: readonly HostProcess[], signal: NodeJS.Signals): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // ESRCH: it ended by itself. EPERM: it became another user's (sudo); it is reported by the limit above.
      if (systemCode(error) !== "ESRCH" && systemCode(error) !== "EPERM") throw error;
    }
  }
}

function ancestors(pid: number, byPid: ReadonlyMap<number, HostProcess>): Set<number> {
  const chain = new Set<number>();
  for (
    let current: number | undefined = pid;
    current !== undefined && current > 1 && !chain.has(current);
    current = byPid.get(current)?.parent
  ) {
    chain.add(current);
  }
  return chain;
}

/** Zombies are left out: they have ended, and only their parent can make them go away. */
function listProcesses(): HostProcess[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (readProcess(name) ?? []) : []));
}

function readProcess(pid: string): HostProcess | null {
  // The command may hold spaces and parentheses, so the fields are counted from its last one.
  const [, command = "", rest = ""] = /\((.*)\) (.*)$/s.exec(readProc(pid, "stat")) ?? [];
  const fields = rest.split(" ");
  const [state, parent, group, session] = fields;
  if (state === undefined || state === "" || state === "Z" || state === "X") return null;
  const startedAt = fields[START_TIME_FIELD] ?? "";
  return { pid: Number(pid), parent: Number(parent), group: Number(group), session: Number(session), startedAt, command };
}

function readEnvironment(pid: number): string[] {
  return readProc(String(pid), "environ").split("\0");
}

/** Empty when the process is gone or belongs to another user. */
function readProc(pid: string, file: "stat" | "environ"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(systemCode(error) ?? "")) return "";
    throw error;
  }
}
