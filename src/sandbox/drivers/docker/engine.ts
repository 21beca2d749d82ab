/** @module Runs the client of a container engine, within limits. */
import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { throwIfAborted } from "../../../base/abort.ts";
import { spawnChild } from "../../../base/child.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError, HoldfastError, systemCode } from "../../../base/errors.ts";

export interface EngineResult {
  /** 128 + the signal's number when a signal ended the client. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface EngineRunOptions {
  /** Milliseconds until the client is killed. What it asked the engine for may still happen. */
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Variables on top of the engine's own, for values that must not show in an argument. */
  readonly env?: Readonly<Record<string, string>>;
  /** Each line that is not empty as it is written, to either stream. If it throws, the client is ended and `run` rejects with that error. */
  readonly onLine?: ((line: string) => void) | undefined;
}

export interface Engine {
  /** Absolute path. */
  readonly program: string;
  /**
   * A client that fails is a result like any other.
   * @throws `operation-timeout`, `aborted`, or `backend-broken` when it cannot be started or writes more than anybody asked for
   */
  run(args: readonly string[], options: EngineRunOptions): Promise<EngineResult>;
}

const LARGEST_OUTPUT = 16 * 1024 * 1024;
// A helper that the client left behind may hold its output open for ever.
const DRAIN_MS = 2_000;

export function createEngine(program: string, { env, clock }: { env: Readonly<Record<string, string>>; clock: Clock }): Engine {
  return {
    program,
    async run(args, { limitMs, signal, env: added = {}, onLine }) {
      const command = describeCommand(program, args);
      throwIfAborted(signal, `\`${command}\` was not run`);
      refuseNul(command, args, added);
      const child = start(program, args, { ...env, ...added });
      const { promise, resolve, reject } = Promise.withResolvers<EngineResult>();
      const giveUp = (error: unknown) => {
        endGroup(child);
        reject(error);
      };
      const onAbort = () => giveUp(new HoldfastError("aborted", `\`${command}\` was cut short`, { cause: signal?.reason }));
      signal?.addEventListener("abort", onAbort, { once: true });
      const limit = clock.after(limitMs, () =>
        giveUp(
          new HoldfastError("operation-timeout", `\`${command}\` did not end within ${limitMs / 1000} s`, { facts: { command, limitMs } }),
        ),
      );
      const output = collect(child, () =>
        giveUp(new HoldfastError("backend-broken", `\`${command}\` wrote more than ${LARGEST_OUTPUT} bytes`, { facts: { command } })),
      );
      if (onLine) for (const stream of [child.stdout, child.stderr]) readLines(stream, { onLine, onError: giveUp });
      child.once("error", (error) =>
        reject(
          new HoldfastError("backend-broken", `cannot start ${program}: ${describeError(error)}`, {
            facts: { command, systemCode: systemCode(error) },
            cause: error,
          }),
        ),
      );
      child.once("exit", () => {
        const drain = clock.after(DRAIN_MS, () => closeOutput(child));
        child.once("close", () => drain.cancel());
      });
      child.once("close", (code, ended) =>
        resolve({ code: code ?? 128 + constants.signals[ended ?? "SIGKILL"], stdout: output("stdout"), stderr: output("stderr") }),
      );
      try {
        return await promise;
      } finally {
        limit.cancel();
        signal?.removeEventListener("abort", onAbort);
      }
    },
  };
}

/** The words before the first option: what follows may hold what somebody does not want to see in a log. */
export function describeCommand(program: string, args: readonly string[]): string {
  const options = args.findIndex((arg) => arg.startsWith("-"));
  return [program, ...(options === -1 ? args : args.slice(0, options))].join(" ");
}

function start(program: string, args: readonly string[], env: Record<string, string>): ChildProcess {
  try {
    // A group of its own: Ctrl-C in the terminal is for us to handle, and helpers of the client die with it.
    return spawnChild(program, args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw new HoldfastError("backend-broken", `cannot start ${program}: ${describeError(error)}`, {
      facts: { program, systemCode: systemCode(error) },
      cause: error,
    });
  }
}

/** Node refuses them, too, but with the value in its message. */
function refuseNul(command: string, args: readonly string[], env: Readonly<Record<string, string>>): void {
  const variable = Object.entries(env).find(([name, value]) => `${name}${value}`.includes("\0"));
  if (variable === undefined && !args.some((arg) => arg.includes("\0"))) return;
  const what = variable === undefined ? "an argument" : `the variable ${JSON.stringify(variable[0])}`;
  throw new HoldfastError("invalid-input", `${what} for \`${command}\` holds a NUL byte`, { facts: { command } });
}

function collect(child: ChildProcess, onTooMuch: () => void): (stream: "stdout" | "stderr") => string {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let size = 0;
  for (const stream of ["stdout", "stderr"] as const)
    child[stream]?.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > LARGEST_OUTPUT) onTooMuch();
      else chunks[stream].push(chunk);
    });
  return (stream) => Buffer.concat(chunks[stream]).toString("utf8");
}

/** Progress bars end their lines with a carriage return. */
function readLines(stream: Readable | null, { onLine, onError }: { onLine(line: string): void; onError(error: unknown): void }): void {
  const decoder = new TextDecoder();
  let rest = "";
  const hand = (lines: string[]) => {
    try {
      for (const line of lines) if (line !== "") onLine(line);
    } catch (error) {
      onError(error);
    }
  };
  stream?.on("data", (chunk: Buffer) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/[\r\n]/);
    rest = lines.pop() ?? "";
    hand(lines);
  });
  stream?.once("end", () => hand([rest]));
}

/** Nothing of it may keep this process alive, not even a client that the kernel cannot end yet. */
function endGroup(child: ChildProcess): void {
  closeOutput(child);
  child.unref();
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // Ended at this moment.
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

function closeOutput(child: ChildProcess): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
}
