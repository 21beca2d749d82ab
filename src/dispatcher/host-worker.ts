/** @module A worker that is a process of this machine, under no sandbox. */
import { once } from "node:events";
import { spawnChild } from "../base/child.ts";
import { type Clock, within } from "../base/clock.ts";
import { killTree } from "../base/process-tree.ts";
import type { SandboxDrift } from "../board/drift.ts";
import { type Job, MARK } from "./job.ts";
import type { SandboxAddress } from "./worker.ts";

export interface WorkerStatus {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface StartedWorker {
  /** Of its first process, when that is one of this machine. */
  readonly pid?: number | undefined;
  /** How its first process ended. Others of its tree may still live. */
  readonly ended: Promise<WorkerStatus>;
  /** TERM to all of its tree, `graceMs` to comply, then KILL. Resolves when nothing is left and all output was taken. */
  end(graceMs: number): Promise<void>;
}

export interface StartOptions {
  readonly clock: Clock;
  /** A promise takes as long as the log; the worker waits meanwhile. */
  readonly onOutput: (chunk: Uint8Array) => void | Promise<void>;
  /** A worker in a sandbox must not begin before this has resolved: nobody could find it. @throws when the claim is lost */
  readonly record: (address: SandboxAddress) => Promise<void>;
  /** The sandbox that the worker comes into was made with other settings than are configured now. */
  readonly onDrift: (drift: SandboxDrift) => void;
}

export type StartWorker = (job: Job, options: StartOptions) => Promise<StartedWorker>;

const LAST_OUTPUT_MS = 1000;

export const startOnHost: StartWorker = async (job, { clock, onOutput }) => {
  const [program = "", ...args] = job.command;
  // A session of its own, so that signals of the supervisor's terminal and group do not reach it.
  const child = spawnChild(program, args, {
    cwd: job.workspace,
    env: { ...job.env, [MARK]: job.mark },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const ended = once(child, "exit").then(([code, signal]): WorkerStatus => ({ code, signal }));
  // A program that cannot be started is told by the `spawn` below.
  ended.catch(() => {});
  const outputs = Promise.all([child.stdout, child.stderr].map((stream) => drain(stream, onOutput)));
  // Awaited when it is ended; until then a failure must not count as unhandled.
  outputs.catch(() => {});
  await once(child, "spawn");
  return {
    pid: child.pid,
    ended,
    async end(graceMs) {
      await killTree(
        { variable: MARK, value: job.mark, root: child.pid ?? 0, rootEnded: child.exitCode !== null || child.signalCode !== null },
        { clock, graceMs },
      );
      // Somebody who left the tree unseen may hold the pipes open for ever.
      await within(outputs, { clock, limitMs: LAST_OUTPUT_MS, late: () => null });
    },
  };
};

async function drain(stream: NodeJS.ReadableStream, onOutput: StartOptions["onOutput"]): Promise<void> {
  for await (const chunk of stream) await onOutput(chunk as Buffer);
}
