/** @module A process on the host itself, in its own session, with true pipes and an end that no grandchild can delay. */
import type { ChildProcess } from "node:child_process";
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { constants } from "node:os";
import { spawnChild } from "../../../base/child.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError, HoldfastError, systemCode } from "../../../base/errors.ts";
import { killTree, type TreeSelector } from "../../../base/process-tree.ts";
import type { ExitStatus, OutputStream, SandboxProcess, SpawnOptions } from "../../driver.ts";
import { readOutput } from "./host-output.ts";
import type { PipePool } from "./host-pipe-pool.ts";
import { createInputPipe, discardHostPipe, type HostPipe } from "./host-pipes.ts";

// How long the taker of the output may still take after a kill.
const TAKER_LIMIT_MS = 2_000;

export interface HostProcessOptions extends SpawnOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly pipes: PipePool;
  readonly clock: Clock;
  /** Finds this process's tree by a variable in `env`. */
  readonly mark: TreeSelector;
}

export async function spawnHostProcess(options: HostProcessOptions): Promise<SandboxProcess> {
  const { stdin, merge = false, pipes, clock, mark, onOutput } = options;
  const streams: OutputStream[] = merge ? ["stdout"] : ["stdout", "stderr"];
  const outputPipes = await pipes.take(streams.length);
  const [inputPipe] = stdin === "pipe" ? [await createInputPipe().catch(discard(outputPipes))] : [];
  const all = inputPipe ? [...outputPipes, inputPipe] : outputPipes;
  const { pid, exited } = await startChild(options, inputPipe, outputPipes).catch(discard(all));
  let rootEnded = false;
  for (const pipe of all) closeSync(pipe.theirs);
  const input = inputPipe ? openInput(inputPipe) : null;
  const readers = outputPipes.map((pipe, index) => readOutput(pipe, (chunk) => onOutput(chunk, streams[index] as OutputStream)));
  const ended = exited.then(async (status) => {
    rootEnded = true;
    input?.destroy();
    await Promise.all(readers.map((reader) => reader.finish()));
    return status;
  });
  const limitTaker = () => {
    const timer = clock.after(TAKER_LIMIT_MS, () => {
      for (const reader of readers) reader.abandon();
    });
    const cancel = () => timer.cancel();
    ended.then(cancel, cancel);
  };
  return {
    pid,
    stdin: input,
    ended,
    kill: ({ graceMs }) => killTree({ ...mark, root: pid, rootEnded }, { clock, graceMs }).finally(limitTaker),
  };
}

function discard(pipes: readonly HostPipe[]) {
  return (error: unknown): never => {
    for (const pipe of pipes) discardHostPipe(pipe);
    throw error;
  };
}

async function startChild({ program, args, env, cwd }: HostProcessOptions, input: HostPipe | undefined, outputs: readonly HostPipe[]) {
  const [out, err = out] = outputs;
  try {
    const child = spawnChild(program, args, { cwd, env, detached: true, stdio: [input?.theirs ?? "ignore", out?.theirs, err?.theirs] });
    const exited = new Promise<ExitStatus>((resolve) => child.once("exit", (code, signal) => resolve(exitStatus(code, signal))));
    await started(child);
    return { pid: child.pid as number, exited };
  } catch (error) {
    throw new HoldfastError("spawn-failed", `cannot start ${program}: ${describeError(error)}`, {
      facts: { program, cwd, systemCode: systemCode(error) },
      cause: error,
    });
  }
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
}

function exitStatus(code: number | null, signal: NodeJS.Signals | null): ExitStatus {
  return { exitCode: code ?? 128 + (signal === null ? 0 : constants.signals[signal]), signal };
}

/** A program that ends without reading all of its input is normal; the broken pipe that this causes is not an error. */
function openInput(pipe: HostPipe): Socket {
  const socket = new Socket({ fd: pipe.ours, readable: false, writable: true });
  socket.on("error", () => socket.destroy());
  return socket;
}
