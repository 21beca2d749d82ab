/** @module A connection to a sandbox in which holdfastd runs. */
import type { Connection, FileAccess, SpawnOptions } from "../driver.ts";
import { startCall } from "./calls.ts";
import type { DaemonAccess } from "./daemon.ts";

export interface DaemonConnectionOptions {
  readonly daemon: DaemonAccess;
  readonly stateDir: string;
  readonly files: FileAccess;
  readonly restarted: boolean;
  /** Where the program of that name is, in the sandbox. */
  findProgram(name: string): string;
}

export function connectThroughDaemon({ daemon, stateDir, files, restarted, findProgram }: DaemonConnectionOptions): Connection {
  const { link } = daemon;
  return {
    stateDir,
    files,
    daemon,
    restarted,
    async spawn([name = "", ...args], { env, cwd = "/", stdin, merge = false, onOutput }: SpawnOptions) {
      const process = await startCall(link, {
        argv: [findProgram(name), ...args],
        ...daemon.environment(env),
        cwd,
        stdin,
        merge,
        shown: name,
        stateFile: null,
        onOutput,
      });
      const ended = process.ended.then(({ exitCode, signal }) => ({ exitCode, signal }));
      // Whoever holds the process awaits it.
      ended.catch(() => {});
      return { pid: process.pid, stdin: process.stdin, ended, kill: process.kill };
    },
    [Symbol.asyncDispose]: () => link[Symbol.asyncDispose](),
  };
}
