/** @module A holdfastd of our own sources, watched by sanitizers: whatever they find fails the test that stops it. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { systemClock } from "../../src/base/clock.ts";
import { type DaemonLink, linkDaemon } from "../../src/sandbox/daemon/link.ts";
import { PROTOCOL_VERSION } from "../../src/sandbox/daemon/wire.ts";

const ROOT = dirname(dirname(import.meta.dirname));
const SOURCES = join(ROOT, "holdfastd");
const BUILT = join(ROOT, ".cache/holdfastd");
const START_LIMIT_MS = 20_000;

/** `debug` has sanitizers and hooks, `release` is what people run: small, and honest about its memory. */
export type DaemonBuild = "debug" | "release" | "fuzz" | "older" | "newer";
const PROGRAMS: Readonly<Record<DaemonBuild, string>> = {
  debug: "holdfastd-debug",
  release: "holdfastd",
  fuzz: "holdfastd-fuzz",
  older: "holdfastd",
  newer: "holdfastd",
};
/** The same program, but that it says to speak another version of the protocol. */
const OTHER_PROTOCOLS: Partial<Record<DaemonBuild, number>> = { older: PROTOCOL_VERSION - 1, newer: PROTOCOL_VERSION + 1 };
const builds = new Map<DaemonBuild, Promise<string>>();

export interface DaemonOptions {
  readonly build?: DaemonBuild;
  /** More arguments of `serve`. */
  readonly args?: readonly string[];
  /** What runs the daemon, as `unshare` does. */
  readonly under?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface TestDaemon extends AsyncDisposable {
  readonly socket: string;
  readonly secret: Buffer;
  readonly state: string;
  readonly pid: number;
  /** The exit code, or null after a signal. */
  readonly exited: Promise<number | null>;
  /** The whole command line. */
  readonly command: readonly string[];
  /** A proven link on a connection of its own, which the caller closes. */
  link(options?: { label?: string; stream?: Duplex }): Promise<DaemonLink>;
  /** As a crash would end it: what `stop` then no longer holds against it. */
  crash(): Promise<void>;
  /** Ends it, if it has not ended, and checks that it ended well and that no sanitizer has complained. */
  stop(): Promise<void>;
}

export function debugDaemon(): Promise<string> {
  return buildDaemon("debug");
}

/** The program, built anew if its sources have changed. Tests run in several processes: only one of them builds at a time. */
export function buildDaemon(build: DaemonBuild): Promise<string> {
  const known = builds.get(build) ?? make(build);
  builds.set(build, known);
  return known;
}

async function make(build: DaemonBuild): Promise<string> {
  await mkdir(BUILT, { recursive: true });
  const protocol = OTHER_PROTOCOLS[build];
  const out = protocol === undefined ? BUILT : join(BUILT, `protocol-${protocol}`);
  const target = protocol === undefined ? [build] : ["release", `PROTOCOL=${protocol}`];
  await promisify(execFile)("flock", [join(BUILT, "lock"), "make", "-s", "-C", SOURCES, `OUT=${out}`, ...target]);
  return join(out, PROGRAMS[build]);
}

export async function startDaemon(directory: string, options: DaemonOptions = {}): Promise<TestDaemon> {
  const { build = "debug", args = [], under = [], env = {} } = options;
  const [socket, state, secretFile] = ["run/s", "state", "secret"].map((name) => join(directory, name)) as [string, string, string];
  const secret = randomBytes(32);
  await writeFile(secretFile, secret.toString("hex"), { mode: 0o600 });
  const serve = ["serve", "--socket", socket, "--state", state, "--secret-file", secretFile, ...args];
  const command = [...under, await buildDaemon(build), ...serve];
  const child = spawn(command[0] ?? "", command.slice(1), {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...sanitizerOptions(directory), ...env },
  });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  await accepting(socket, child, () => said);
  let crashed = false;
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    const code = await exited;
    const reports = await sanitizerReports(directory);
    if (reports !== "" || (!crashed && (code !== 0 || said !== ""))) {
      throw new Error(`the daemon ended with ${code ?? child.signalCode}\n${said}${reports}`);
    }
  };
  return {
    socket,
    secret,
    state,
    pid: child.pid ?? 0,
    exited,
    command,
    link: ({ label = "test", stream = connect(socket) } = {}) => linkDaemon(stream, { secret, label, clock: systemClock }),
    async crash() {
      crashed = true;
      child.kill("SIGKILL");
      await exited;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** For programs that a test starts itself; what they found is in `sanitizerReports`. */
export function sanitizerOptions(directory: string): Record<string, string> {
  const log = `log_path=${join(directory, "sanitizer")}`;
  return { ASAN_OPTIONS: log, UBSAN_OPTIONS: `${log}:print_stacktrace=1`, LSAN_OPTIONS: log };
}

export async function sanitizerReports(directory: string): Promise<string> {
  const names = (await readdir(directory)).filter((name) => name.startsWith("sanitizer."));
  return (await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")))).join("\n");
}

async function accepting(socket: string, child: ChildProcess, said: () => string): Promise<void> {
  const limit = systemClock.monotonic() + START_LIMIT_MS;
  while (systemClock.monotonic() < limit && child.exitCode === null) {
    const stream = connect(socket);
    // It also fails when the stream does.
    const connected = await once(stream, "connect").then(
      () => true,
      () => false,
    );
    stream.destroy();
    if (connected) return;
    await pause(5);
  }
  child.kill("SIGKILL");
  throw new Error(`the daemon does not accept connections: ${said()}`);
}
