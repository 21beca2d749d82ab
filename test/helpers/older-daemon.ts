/** @module Daemons that speak another version of the protocol, where those of this version were. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { startCall } from "../../src/sandbox/daemon/calls.ts";
import type { DaemonLink } from "../../src/sandbox/daemon/link.ts";
import { buildDaemon, type DaemonBuild } from "./daemon.ts";

/** On the host, for a sandbox of the local backend; what runs there now must have ended. */
export async function startOnHost(build: DaemonBuild, runDir: string): Promise<void> {
  const args = ["serve", "--socket", "socket", "--state", runDir, "--secret-file", "secret", "--background"];
  await promisify(execFile)(await buildDaemon(build), args, { cwd: runDir });
}

export const runDirectory = (sandboxes: string, { install, profile, task }: { install: string; profile: string; task: string }): string =>
  join(sandboxes, "local", install, profile, task, "run");

/** A call as its own client would have made it: between versions, tests know that the bytes are the same. It ends with its input. */
export async function callThrough(link: DaemonLink): Promise<{ readonly pid: number; end(): Promise<unknown> }> {
  const call = await startCall(link, {
    argv: ["cat"],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    stdin: "pipe",
    merge: false,
    shown: "cat",
    stateFile: null,
    onOutput: () => {},
  });
  return {
    pid: call.pid,
    async end() {
      call.stdin?.end();
      return call.ended;
    },
  };
}
