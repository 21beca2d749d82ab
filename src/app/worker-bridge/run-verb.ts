/** @module Runs a verb of the board on the host, as the worker of a run and with nothing else. */
import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { spawnChild } from "../../base/child.ts";
import type { Clock } from "../../base/clock.ts";
import { HoldfastError } from "../../base/errors.ts";
import { type Job, MARK } from "../../dispatcher/job.ts";
import { identityVariables } from "../worker-identity.ts";

export interface VerbResult {
  readonly status: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

export interface RunVerbOptions {
  readonly input: Uint8Array | null;
  /** What the program needs to run at all. */
  readonly plain: Readonly<Record<string, string>>;
  /** What the verb takes for the workspace. */
  readonly workspace: string;
  /** Node and the program. */
  readonly program: readonly string[];
  readonly clock: Clock;
  /** Ends it at once. */
  readonly signal: AbortSignal;
}

const LONGEST_OUTPUT = 16 * 1024 * 1024;
const LIMIT_MS = 5 * 60_000;

/** @throws `too-large`, `operation-timeout`, `spawn-failed` */
export async function runVerb(job: Job, args: readonly string[], options: RunVerbOptions): Promise<VerbResult> {
  const { input, plain, workspace, program, clock, signal } = options;
  const [command = "", ...before] = program;
  const child = spawnChild(command, [...before, ...args], {
    cwd: job.workspace,
    // Who it is comes from what the supervisor was told, never from what was asked. The mark: if its supervisor is killed, whoever ends the run finds it.
    env: { ...plain, ...identityVariables(job), HOLDFAST_WORKSPACE: workspace, [MARK]: job.mark },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = exitOf(child);
  let failure: HoldfastError | undefined;
  const stop = (reason: HoldfastError) => {
    failure ??= reason;
    child.kill("SIGKILL");
  };
  const onAbort = () => stop(new HoldfastError("aborted", "the run has ended"));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const timer = clock.after(LIMIT_MS, () =>
    stop(new HoldfastError("operation-timeout", `the verb took more than ${LIMIT_MS / 60_000} minutes`)),
  );
  child.stdin.end(input ?? "");
  const tooLong = () => stop(new HoldfastError("too-large", `the answer has more than ${LONGEST_OUTPUT} bytes`));
  try {
    const [stdout, stderr, status] = await Promise.all([collect(child.stdout, tooLong), collect(child.stderr, tooLong), ended]);
    if (failure !== undefined) throw failure;
    return { status, stdout, stderr };
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child
      .once("close", (code) => resolve(code ?? 1))
      .once("error", (error) => reject(new HoldfastError("spawn-failed", `the verb could not be run: ${error.message}`, { cause: error })));
  });
}

async function collect(stream: Readable, tooLong: () => void): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LONGEST_OUTPUT) tooLong();
    else chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
