/**
 * @module Supervisor processes that have not been told yet what to do. Starting one takes longer than everything else between a task that
 * is ready and its worker, so a dispatcher that stays keeps one in reserve.
 */
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { spawnChild } from "../base/child.ts";
import { HoldfastError } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { findProcess } from "../base/process-tree.ts";
import { type Job, MARK } from "./job.ts";

export interface Supervisor {
  readonly pid: number;
  readonly startedAt: string;
  readonly mark: string;
  /** From then on it starts the worker. One that never hears this ends when its dispatcher does, and has done nothing. */
  tell(job: Job): void;
  dismiss(): void;
  onEnd(listener: () => void): void;
}

export interface SupervisorsOptions {
  /** What runs one. */
  readonly program: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where they say what goes wrong with themselves. */
  readonly directory: string;
  /** Keeps one in reserve. */
  readonly reserve: boolean;
}

export interface Supervisors {
  take(): Promise<Supervisor>;
  close(): void;
}

export function createSupervisors(options: SupervisorsOptions): Supervisors {
  let spare: Promise<Supervisor> | undefined;
  let closed = false;
  const prepare = () => {
    if (!options.reserve || closed || spare !== undefined) return;
    spare = start(options);
    // Whoever takes it hears of it.
    spare.catch(() => {});
  };
  prepare();
  return {
    async take() {
      // Before anything is waited for, or another who takes one would get the same.
      const reserved = spare;
      spare = undefined;
      const ready = await reserved?.catch(() => undefined);
      // One that was ended meanwhile is of no use.
      const taken = ready !== undefined && findProcess(ready.pid)?.startedAt === ready.startedAt ? ready : await start(options);
      prepare();
      return taken;
    },
    close() {
      closed = true;
      spare?.then((unused) => unused.dismiss()).catch(() => {});
      spare = undefined;
    },
  };
}

async function start({ program, env, directory }: SupervisorsOptions): Promise<Supervisor> {
  const [command = "", ...args] = program;
  await makeDirectory(directory);
  const mark = randomId();
  const errors = openSync(join(directory, "supervisors.log"), "a", 0o600);
  try {
    const child = spawnChild(command, args, { env: { ...env, [MARK]: mark }, stdio: ["pipe", "ignore", errors], detached: true, cwd: "/" });
    await spawned(child);
    const found = findProcess(child.pid ?? 0);
    if (found === null) throw new HoldfastError("spawn-failed", "the supervisor of a worker ended at once", { facts: { program } });
    child.unref();
    (child.stdin as { unref?: () => void } | null)?.unref?.();
    return {
      pid: found.pid,
      startedAt: found.startedAt,
      mark,
      // One that was ended before it hears it is found out by the next look at its run.
      tell: (job) => void child.stdin?.end(`${JSON.stringify(job)}\n`),
      dismiss: () => void child.kill("SIGKILL"),
      onEnd: (listener) => void child.once("exit", listener),
    };
  } finally {
    closeSync(errors);
  }
}

async function spawned(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child
      .once("spawn", resolve)
      .once("error", (error) =>
        reject(new HoldfastError("spawn-failed", `a supervisor could not be started: ${error.message}`, { cause: error })),
      );
  });
}
