/** @module Finding and ending every process that came from one of ours, wherever it moved to. */
import { readdirSync, readFileSync } from "node:fs";
import { type Clock, delay } from "../../../base/clock.ts";
import { HoldfastError, systemCode } from "../../../base/errors.ts";

export interface HostProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
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

/**
 * The variable finds what moved to its own session or was orphaned (`setsid`, double forks, `nohup`), the descent finds what emptied its
 * environment. Never includes this process or one it runs in, so that a sandbox can be removed from inside.
 */
export function findTree({ variable, value, root, rootEnded = false }: TreeSelector): HostProcess[] {
  const all = listProcesses();
  const byPid = new Map(all.map((entry) => [entry.pid, entry]));
  const ours = ancestors(process.pid, byPid);
  const mark = `${variable}=${value}`;
  const marked = new Set(all.filter(({ pid }) => readEnvironment(pid).includes(mark)).map(({ pid }) => pid));
  const leader = root === undefined || (rootEnded && byPid.has(root)) ? undefined : root;
  const belongs = ({ pid, group, session }: HostProcess) =>
    (leader !== undefined && (group === leader || session === leader)) ||
    [...ancestors(pid, byPid)].some((ancestor) => ancestor === leader || marked.has(ancestor));
  return all.filter((entry) => !ours.has(entry.pid) && belongs(entry));
}

/** TERM to all, time to comply, then KILL until nothing is left; processes are frozen first, so that none can fork away meanwhile. */
export async function killTree(selector: TreeSelector, { clock, graceMs }: { clock: Clock; graceMs: number }): Promise<void> {
  const found = findTree(selector);
  signalAll(found, "SIGTERM");
  signalAll(found, "SIGCONT");
  const graceEnd = clock.monotonic() + graceMs;
  while (findTree(selector).length > 0 && clock.monotonic() < graceEnd) await delay(clock, POLL_MS);
  const end = clock.monotonic() + KILL_LIMIT_MS;
  for (let left = findTree(selector); left.length > 0; left = findTree(selector)) {
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
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    // The command may hold spaces and parentheses, so the fields are counted from its last one.
    const [, command = "", rest = ""] = /\((.*)\) (.*)$/s.exec(readProc(name, "stat")) ?? [];
    const [state, parent, group, session] = rest.split(" ");
    if (state === undefined || state === "" || state === "Z" || state === "X") return [];
    return [{ pid: Number(name), parent: Number(parent), group: Number(group), session: Number(session), command }];
  });
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
