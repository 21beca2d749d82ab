/**
 * @module Ends every process, cgroup and mount of the engines in one directory and removes it. It asks no engine, since one may hang,
 * and what they hold is thrown away anyway.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readdirSync, readFileSync, rmdirSync, unlinkSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { withFileLock } from "./file-lock.ts";

const ENGINES = /^(?:dockerd|containerd|containerd-shim|containerd-shim-runc-v2|docker-proxy|runc|crun|conmon|podman|postgres)$/;
const ROUNDS = 200;
const PAUSE_MS = 25;

interface Running {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly command: string;
}

const place = process.argv[2] ?? "";
if (!/^\/tmp\/hfe-\w+$/.test(place)) throw new Error(`${place} is not the place of a test's engines`);
// Whoever is just starting an engine in it ends that first, and nobody begins after.
if (existsSync(place)) await withFileLock(`${place}/docker.lock`, () => withFileLock(`${place}/podman.lock`, clear));

/** Again and again, since a client that outlives the run may have been about to make another container. */
async function clear(): Promise<void> {
  const groups = new Set<string>();
  attempt(() => unlinkSync(`${place}/podman/podman`));
  for (let round = 0; existsSync(place); round += 1) {
    if (round === ROUNDS) throw new Error(`${place} cannot be removed`);
    for (const group of cgroups()) groups.add(group);
    const left = [...ownProcesses(), ...[...groups].flatMap(membersOf)];
    for (const pid of left) attempt(() => process.kill(pid, "SIGKILL"));
    if (left.length === 0) remove([...groups]);
    else await pause(PAUSE_MS);
  }
}

function remove(groups: readonly string[]): void {
  for (const group of groups.toSorted(deepest)) attempt(() => rmdirSync(group));
  for (const id of segments()) attempt(() => execFileSync("ipcrm", ["--shmem-id", id], { stdio: "ignore" }));
  for (const target of mountsBelow()) attempt(() => execFileSync("umount", ["--lazy", target], { stdio: "ignore" }));
  attempt(() => execFileSync("rm", ["-rf", "--one-file-system", place], { stdio: "ignore" }));
}

/** What a PostgreSQL that was killed leaves in the kernel, which keeps 4096 of them. */
function segments(): string[] {
  return globSync(`${place}/**/data/postmaster.pid`).flatMap((file) => /^ *\d+ +(\d+)$/m.exec(read(file))?.[1] ?? []);
}

/** Engines whose command line names a path in this place, and all that they have started. */
function ownProcesses(): number[] {
  const all = runningProcesses();
  const found = new Set(all.filter(({ name, command }) => ENGINES.test(name) && command.includes(`${place}/`)).map(({ pid }) => pid));
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

function runningProcesses(): Running[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    const [, name = "", state, parent] = /^\d+ \((.*)\) (\S) (\d+)/s.exec(read(`/proc/${pid}/stat`)) ?? [];
    if (parent === undefined || state === "Z") return [];
    return [{ pid: Number(pid), parent: Number(parent), name, command: read(`/proc/${pid}/cmdline`) }];
  });
}

/** Docker's containers are below a cgroup named after the place, Podman's in one named after each. */
function cgroups(): string[] {
  const own = readdirOrNone(`${place}/podman/root/overlay-containers`).filter((name) => /^[0-9a-f]{64}$/.test(name));
  const roots = mountsOf((kind) => kind === "cgroup" || kind === "cgroup2");
  const heads = roots.flatMap((root) => [
    `${root}/${basename(place)}`,
    ...own.flatMap((id) => globSync(`${root}/libpod_parent/libpod-*${id}`)),
  ]);
  return heads
    .flatMap((head) => [...globSync(`${head}/**/cgroup.procs`)].map((file) => file.slice(0, -"/cgroup.procs".length)))
    .sort(deepest);
}

function membersOf(group: string): number[] {
  return read(`${group}/cgroup.procs`).split("\n").filter(Boolean).map(Number);
}

function mountsBelow(): string[] {
  return mountsOf(() => true)
    .filter((target) => target.startsWith(`${place}/`))
    .sort(deepest);
}

function mountsOf(wanted: (kind: string) => boolean): string[] {
  const lines = read("/proc/self/mounts").split("\n").filter(Boolean);
  return lines.map((line) => line.split(" ")).flatMap(([, target = "", kind = ""]) => (wanted(kind) ? [target] : []));
}

function deepest(a: string, b: string): number {
  return b.length - a.length;
}

/** What has ended, or was never there, is empty. */
function read(file: string): string {
  return attempt(() => readFileSync(file, "utf8")) ?? "";
}

function readdirOrNone(directory: string): string[] {
  return attempt(() => readdirSync(directory)) ?? [];
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    // It went away by itself, or the next round tries again.
    return undefined;
  }
}
