/** @module Running git on repositories of the user: no hooks, no questions, nothing of our own variables, and never without end. */
import { homedir } from "node:os";
import { spawnChild } from "../../base/child.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { refused } from "./refuse.ts";

const LIMIT_MS = 10 * 60_000;
const GRACE_MS = 5_000;
const MOST_OUTPUT = 1024 * 1024;
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** A file monitor is a program that a repository can name, like a hook. */
const SETTINGS = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "gc.auto=0", "advice.detachedHead=false"];

export interface GitOptions {
  readonly clock: Clock;
  /** The PATH on which git and its filters are found. @default the usual directories of a system */
  readonly path?: string | undefined;
  /** @default ten minutes, since a checkout may be large */
  readonly limitMs?: number | undefined;
}

export interface GitAnswer {
  readonly code: number | null;
  /** At most 1 MiB of it. */
  readonly output: string;
  /** In git's own words. */
  readonly complaint: string;
}

export interface Git {
  /** @throws `workspace-failed` when git cannot be started or takes too long */
  ask(cwd: string, args: readonly string[], variables?: Readonly<Record<string, string>>): Promise<GitAnswer>;
  /** The output. @throws `workspace-failed` with git's own words when it fails */
  run(cwd: string, args: readonly string[], variables?: Readonly<Record<string, string>>): Promise<string>;
}

export function createGit({ clock, path = SYSTEM_PATH, limitMs = LIMIT_MS }: GitOptions): Git {
  const settings = SETTINGS.flatMap((setting) => ["-c", setting]);
  const base = {
    PATH: path,
    HOME: homedir(),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    SSH_ASKPASS: "/bin/false",
    GIT_EDITOR: "/bin/false",
    GIT_PAGER: "cat",
    GIT_OPTIONAL_LOCKS: "0",
  };

  const ask: Git["ask"] = (cwd, args, variables = {}) =>
    new Promise((resolve, reject) => {
      const what = `git ${args.find((arg) => !arg.startsWith("-")) ?? ""} in ${cwd}`;
      const child = spawnChild("git", [...settings, ...args], {
        cwd,
        env: { ...base, ...variables },
        stdio: ["ignore", "pipe", "pipe"],
        // A group of its own, so that what git has started ends with it.
        detached: true,
      });
      const output = collect(child.stdout);
      const complaint = collect(child.stderr);
      let late = false;
      const timers = [
        clock.after(limitMs, () => {
          late = true;
          endGroup(child.pid, "SIGTERM");
        }),
        clock.after(limitMs + GRACE_MS, () => endGroup(child.pid, "SIGKILL")),
      ];
      const settle = (done: () => void) => {
        for (const timer of timers) timer.cancel();
        done();
      };
      child.on("error", (error) => settle(() => reject(refused(`${what} cannot be started: ${describeError(error)}`, { cause: error }))));
      child.on("close", (code) =>
        settle(() =>
          late
            ? reject(refused(`${what} took longer than ${limitMs / 1000} seconds`))
            : resolve({ code, output: output(), complaint: complaint().trim() }),
        ),
      );
    });

  return {
    ask,
    async run(cwd, args, variables) {
      const { code, output, complaint } = await ask(cwd, args, variables);
      if (code === 0) return output;
      throw refused(`git in ${cwd} says: ${complaint || `exit status ${code}`}`, { facts: { cwd, args, code } });
    },
  };
}

/** Reads to the end, so that git is never held up, and keeps the beginning. */
function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    if (size < MOST_OUTPUT) chunks.push(chunk);
    size += chunk.length;
  });
  return () => Buffer.concat(chunks).toString();
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: it has just ended.
  }
}
