/** @module The command line under test, in a home that goes away: in this process with captured streams, or as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { createTerminal } from "../../src/cli/render.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

export const SOURCE_PROGRAM = join(import.meta.dirname, "../../src/cli/main.ts");
/** What tests start: the built one in ./check, which has just built it, else the sources as they are. */
export const PROGRAM = process.env.TEST_PROGRAM ?? SOURCE_PROGRAM;
/** What programs of tests import, likewise. */
export const LIBRARY = process.env.TEST_PROGRAM
  ? join(dirname(process.env.TEST_PROGRAM), "index.js")
  : join(import.meta.dirname, "../../src/index.ts");

/** Puts `holdfast` into a directory of programs, which is made if it is not there. */
export async function installProgram(bin: string): Promise<void> {
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, "holdfast"), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`, { mode: 0o755 });
}

// Half of the time that the program takes to start from its sources is spent on compiling them.
export const COMPILE_CACHE = join(import.meta.dirname, "../../node_modules/.cache/holdfast-compile");

export interface CliResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Variables besides those of the test; undefined takes one away. */
  env?: Readonly<Record<string, string | undefined>>;
  cwd?: string;
  input?: string | Uint8Array;
}

export interface RunningCli {
  readonly child: ChildProcess;
  /** Resolves with all that was printed so far, first to standard output and then to standard error, as soon as it holds `text`. */
  untilPrinted(text: string): Promise<string>;
  readonly ended: Promise<CliResult & { readonly bytes: Buffer }>;
}

export interface TestCli extends AsyncDisposable {
  /** HOLDFAST_HOME; its name has a blank in it. */
  readonly home: string;
  /** The caller's directory. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** In this process. `tty`: somebody sits there and types `input`. */
  run(args: readonly string[], options?: RunOptions & { tty?: boolean }): Promise<CliResult>;
  /** What the verb prints with --json; it must succeed. */
  json<T = unknown>(args: readonly string[], options?: RunOptions): Promise<T>;
  /** As a process of its own. */
  start(args: readonly string[], options?: RunOptions & { program?: readonly string[] }): RunningCli;
  runProcess(args: readonly string[], options?: Parameters<TestCli["start"]>[1]): RunningCli["ended"];
}

export async function createTestCli(): Promise<TestCli> {
  const root = await temporaryDirectory();
  const home = join(root.path, "holdfast home");
  const directory = join(root.path, "work");
  const userHome = join(root.path, "user");
  await Promise.all([directory, userHome].map((path) => mkdir(path)));
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: userHome, HOLDFAST_HOME: home, LANG: "C.UTF-8" };

  const run: TestCli["run"] = async (args, { env: more = {}, cwd = directory, input = "", tty = false } = {}) => {
    const [stdout, stderr] = [collector(), collector()];
    const stdin = Object.assign(Readable.from([Buffer.from(input)]), { isTTY: tty });
    const environment: Readonly<Record<string, string | undefined>> = { ...env, ...more };
    const terminal = createTerminal({
      stdin: () => stdin,
      stdout: stdout.stream,
      stderr: Object.assign(stderr.stream, { isTTY: tty }),
      noColor: environment.NO_COLOR,
    });
    const status = await runCli(args, { environment, cwd, terminal });
    return { status, stdout: stdout.text(), stderr: stderr.text() };
  };

  const start: TestCli["start"] = (args, { env: more = {}, cwd = directory, input, program } = {}) => {
    const [command = "", ...before] = program ?? [process.execPath, PROGRAM];
    const environment = Object.entries({ ...env, NODE_COMPILE_CACHE: COMPILE_CACHE, ...more }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const child = spawn(command, [...before, ...args], { cwd, env: Object.fromEntries(environment) });
    const news = new EventEmitter();
    const tell = () => void news.emit("news");
    const [stdout, stderr] = [collector(tell), collector(tell)];
    let over = false;
    child.once("close", () => {
      over = true;
      tell();
    });
    child.stdout.pipe(stdout.stream);
    child.stderr.pipe(stderr.stream);
    // A program that does not read its input closes the pipe.
    child.stdin.on("error", () => {});
    if (input !== undefined) child.stdin.end(input);
    const ended = once(child, "close").then(([status]) => {
      return { status: status as number | null, stdout: stdout.text(), stderr: stderr.text(), bytes: stdout.bytes() };
    });
    const untilPrinted = async (text: string) => {
      for (;;) {
        const printed = stdout.text() + stderr.text();
        if (printed.includes(text)) return printed;
        if (over) throw new Error(`ended without printing ${text}: ${printed}`);
        await once(news, "news");
      }
    };
    return { child, untilPrinted, ended };
  };

  return {
    home,
    directory,
    env,
    run,
    async json<T>(args: readonly string[], options?: RunOptions) {
      const { status, stdout, stderr } = await run([...args, "--json"], options);
      if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
    start,
    runProcess: (args, options) => start(args, { input: "", ...options }).ended,
    [Symbol.asyncDispose]: () => root[Symbol.asyncDispose](),
  };
}

/** A stream that keeps what is written to it. */
export function collector(onWrite = () => {}): { stream: Writable; bytes(): Buffer; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      chunks.push(Buffer.from(chunk));
      onWrite();
      callback();
    },
  });
  const bytes = () => Buffer.concat(chunks);
  return { stream, bytes, text: () => bytes().toString() };
}
