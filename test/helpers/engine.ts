/**
 * @module Real Docker engines for tests: one that all tests of a run share, and private ones to be stopped and frozen. None of them is
 * the user's, except with HOLDFAST_TEST_ENGINE=unix://…, where tests must touch only what carries their own labels.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { systemClock } from "../../src/base/clock.ts";
import { imageArchive } from "./engine-image.ts";
import { enginePlace, sharedPlace } from "./engine-place.ts";
import { withFileLock } from "./file-lock.ts";

/** For the hook that asks for an engine: the images may have to be made first. */
export const ENGINE_LIMIT_MS = 300_000;

const START_LIMIT_MS = 60_000;
const ANSWER_LIMIT_MS = 5000;
const DISK_MIB = 4096;

export interface EngineResult {
  /** null when a signal ended the program. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface EngineContainer {
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

export interface TestEngine {
  /** What HOLDFAST_DOCKER_BINARY must be. */
  readonly binary: string;
  /** `unix://…`, or "" for Podman, which has none. */
  readonly host: string;
  /** What a process needs to reach this engine. */
  readonly env: Readonly<Record<string, string>>;
  run(args: readonly string[]): Promise<EngineResult>;
  /** Running or not, with the label `name` or `name=value`. */
  containers(label: string): Promise<EngineContainer[]>;
}

export interface PrivateEngine extends TestEngine, AsyncDisposable {
  readonly pid: number;
  /** Its data, of which a test may fill the disk. */
  readonly directory: string;
  /** As the system's manager stops it, containers and all. */
  stop(): Promise<void>;
  /** Its containers go on until the next `start`, which stops them. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** It accepts connections and never answers, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): void;
}

let shared: Promise<TestEngine> | undefined;

/** The engine of this run, with the images of engine-image.ts. The first test that asks starts it. */
export function testEngine(): Promise<TestEngine> {
  shared ??= findEngine();
  return shared;
}

async function findEngine(): Promise<TestEngine> {
  const usersOwn = process.env.HOLDFAST_TEST_ENGINE;
  if (usersOwn) return await loadImages(dockerAt(usersOwn));
  const place = await sharedPlace();
  const archive = await imageArchive();
  return await withFileLock(join(place, "docker.lock"), async () => {
    const directory = join(place, "docker");
    const engine = dockerAt(hostOf(directory));
    if (existsSync(join(directory, "ready"))) return engine;
    // Whoever began this may have ended in the middle.
    if (!existsSync(directory)) await mountMemory(directory, DISK_MIB);
    if (!(await answers(engine.host))) await startDockerd(directory);
    await loadImages(engine, archive);
    await mkdir(join(directory, "ready"));
    return engine;
  });
}

export interface PrivateEngineOptions {
  /**
   * All that it can store. The images take 200, and 400 while they are loaded.
   * @default 4096
   */
  readonly diskMib?: number;
}

/** An engine of the caller's own, which ends with it at the latest. */
export async function privateEngine({ diskMib = DISK_MIB }: PrivateEngineOptions = {}): Promise<PrivateEngine> {
  const archive = await imageArchive();
  const place = await enginePlace();
  const directory = join(place.path, "docker");
  const engine = dockerAt(hostOf(directory));
  let pid = 0;
  const start = async () => {
    pid = await startDockerd(directory);
  };
  try {
    await mountMemory(directory, diskMib);
    await start();
    await loadImages(engine, archive);
  } catch (error) {
    await place[Symbol.asyncDispose]();
    throw error;
  }
  return {
    ...engine,
    directory,
    get pid() {
      return pid;
    },
    start,
    stop: () => stopDockerd(directory, pid),
    crash: () => crashDockerd(directory, pid),
    freeze: () => freezeProcess(pid),
    thaw: () => void process.kill(pid, "SIGCONT"),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

/** The commands that Docker and Podman share. */
export function engineCommands(binary: string, env: Readonly<Record<string, string>>): Pick<TestEngine, "run" | "containers"> {
  const run = (args: readonly string[]) => execute(binary, args, { env });
  return {
    run,
    async containers(label) {
      const { code, stdout, stderr } = await run(["ps", "--all", "--quiet", "--no-trunc", "--filter", `label=${label}`]);
      if (code !== 0) throw new Error(`the containers cannot be listed: ${stderr}`);
      const ids = stdout.split("\n").filter(Boolean);
      // Podman's `ps` has no plain word for the state. What was removed since is not printed.
      const format = "{{.Id}}\t{{.Name}}\t{{.State.Status}}";
      const rows = ids.length === 0 ? "" : (await run(["inspect", "--type=container", "--format", format, ...ids])).stdout;
      return rows.split("\n").filter(Boolean).map(parseRow);
    },
  };
}

/** Docker's names begin with a slash. */
function parseRow(row: string): EngineContainer {
  const [id = "", name = "", state = ""] = row.split("\t");
  return { id, name: name.replace(/^\//, ""), state };
}

export async function loadImages(engine: TestEngine, archive?: string): Promise<TestEngine> {
  const { code, stderr } = await engine.run(["load", "--quiet", "--input", archive ?? (await imageArchive())]);
  if (code !== 0) throw new Error(`the test images cannot be loaded: ${stderr}`);
  return engine;
}

function dockerAt(host: string): TestEngine {
  const env = { DOCKER_HOST: host };
  return { binary: "docker", host, env, ...engineCommands("docker", env) };
}

function hostOf(directory: string): string {
  return `unix://${join(directory, "s")}`;
}

/** Images unpacked on a busy disk take seconds to write and as long to remove. */
async function mountMemory(directory: string, mib: number): Promise<void> {
  await mkdir(directory);
  await promisify(execFile)("mount", ["-t", "tmpfs", "-o", `size=${mib}m,mode=711`, "holdfast-test", directory]);
}

/** Its process id, once it answers. */
async function startDockerd(directory: string): Promise<number> {
  const log = await open(join(directory, "log"), "a");
  const places = Object.entries({ "--data-root": "data", "--exec-root": "exec", "--pidfile": "pid" });
  const args = [
    ...["--bridge=none", "--iptables=false", "--ip6tables=false", "--exec-opt", "native.cgroupdriver=cgroupfs"],
    // The keeper finds what runs in its containers by this name.
    ...["--cgroup-parent", `/${basename(dirname(directory))}`, "--host", hostOf(directory)],
    ...places.flatMap(([option, name]) => [option, join(directory, name)]),
  ];
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  const child = spawn("dockerd", args, { stdio: ["ignore", log.fd, log.fd], detached: true, env });
  child.unref();
  try {
    await once(child, "spawn");
    const limit = systemClock.monotonic() + START_LIMIT_MS;
    while (child.exitCode === null && child.signalCode === null && systemClock.monotonic() < limit) {
      if ((await answers(hostOf(directory))) && child.pid !== undefined) return child.pid;
      await pause(50);
    }
  } finally {
    await log.close();
  }
  throw new Error(`dockerd does not answer: ${(await readFile(join(directory, "log"), "utf8")).slice(-2000)}`);
}

async function answers(host: string): Promise<boolean> {
  if (!existsSync(host.slice("unix://".length))) return false;
  return (await execute("docker", ["version"], { env: { DOCKER_HOST: host }, timeout: ANSWER_LIMIT_MS })).code === 0;
}

/** It has ended when its process is gone: one started before that would refuse the directory. */
async function stopDockerd(directory: string, pid: number): Promise<void> {
  for (const signal of ["SIGTERM", "SIGCONT"] as const) process.kill(pid, signal);
  await endOf(pid, directory);
}

/** Its containerd dies with it, and looks alive to the next one where process 1 does not collect the dead. */
async function crashDockerd(directory: string, pid: number): Promise<void> {
  process.kill(pid, "SIGKILL");
  await endOf(pid, directory);
  await rm(join(directory, "exec/containerd/containerd.pid"), { force: true });
}

async function endOf(pid: number, directory: string): Promise<void> {
  const limit = systemClock.monotonic() + START_LIMIT_MS;
  while (isAlive(pid)) {
    if (systemClock.monotonic() > limit) throw new Error(`dockerd in ${directory} does not end`);
    await pause(20);
  }
}

/** The threads stop one by one after the signal: until then one of them may still answer. */
async function freezeProcess(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  const isStopped = async (thread: string) => /\) T /.test(await readFile(`/proc/${pid}/task/${thread}/stat`, "utf8"));
  while (!(await Promise.all((await readdir(`/proc/${pid}/task`)).map(isStopped))).every(Boolean)) await pause(5);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // ESRCH: there is no such process.
    return false;
  }
}

interface ExecuteOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly timeout?: number;
}

function execute(binary: string, args: readonly string[], { env, timeout = 0 }: ExecuteOptions): Promise<EngineResult> {
  const options = { env: { ...process.env, ...env }, timeout, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    const child = execFile(binary, args, options, (error, stdout, stderr) => {
      if (error && child.pid === undefined) reject(error);
      else resolve({ code: child.exitCode, stdout, stderr });
    });
    child.stdin?.end();
  });
}
