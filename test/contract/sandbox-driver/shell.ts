/** @module A session for one case: calls in it, and the same session seen from another process. */
import { mkdtemp } from "node:fs/promises";
import { join, posix } from "node:path";
import { expect } from "vitest";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { randomId } from "../../../src/base/ids.ts";
import type { CallOptions, CallResult, Command } from "../../../src/sandbox/call.ts";
import type { Connection, SandboxRef } from "../../../src/sandbox/driver.ts";
import { filesOf } from "../../../src/sandbox/files-over-spawn.ts";
import { type CallMachinery, runCall } from "../../../src/sandbox/run-call.ts";
import { createSandbox, type Sandbox } from "../../../src/sandbox/sandbox.ts";
import { createSessions } from "../../../src/sandbox/session/sessions.ts";
import { createTranscript, printed } from "../../helpers/collect.ts";

export const PATIENCE_MS = 100_000;

export interface ShellOptions {
  readonly on?: { readonly ref: SandboxRef; readonly connection: Connection };
  /** For calls only; the driver keeps its own. */
  readonly clock?: Clock;
  readonly keepChars?: number;
  readonly spillBytes?: number;
  readonly loginLimitMs?: number;
  /** Instead of a fresh directory. */
  readonly startDirectory?: string;
}

export interface RunningCall {
  readonly result: Promise<CallResult>;
  /** Resolves with all that was printed so far, as soon as it holds `text`. */
  untilPrinted(text: string | RegExp): Promise<string>;
}

export interface Shell {
  readonly ref: SandboxRef;
  readonly connection: Connection;
  readonly sandbox: Sandbox;
  readonly session: string;
  /** A fresh directory in the sandbox; the session begins in it. */
  readonly directory: string;
  /** The file in the sandbox that holds the session. */
  readonly stateFile: string;
  /** Where overflow files go, on the host. */
  readonly spillDirectory: string;
  run(command: Command, options?: CallOptions): Promise<CallResult>;
  /** What a command that must succeed prints on standard output, without the last line break. */
  text(command: Command, options?: CallOptions): Promise<string>;
  start(command: Command, options?: CallOptions): RunningCall;
  /** The same session through a connection that knows nothing of this one. */
  elsewhere(): Promise<Shell>;
}

interface ShellPlace extends ShellOptions {
  readonly on: { readonly ref: SandboxRef; readonly connection: Connection };
  readonly hostDirectory: string;
  reconnect(): Promise<Connection>;
  readonly session?: string;
}

export async function createShell(place: ShellPlace): Promise<Shell> {
  const { on, clock = systemClock, keepChars = 50_000, spillBytes = 100_000_000, loginLimitMs, hostDirectory, reconnect } = place;
  const { ref, connection } = on;
  const session = place.session ?? `s${randomId(6)}`;
  const directory = place.startDirectory ?? (await printed(connection, "mktemp -d"));
  const spillDirectory = await mkdtemp(join(hostDirectory, "spill-"));
  const limits = { keepChars, spillBytes, spillDirectory };
  const common = { connection, clock, limits, defaultTimeoutMs: PATIENCE_MS };
  const sandbox = createSandbox({ ...common, ref, startDirectory: directory });
  const run = loginLimitMs === undefined ? sandbox.run : impatient({ ...common, directory, loginLimitMs });
  const runHere = (command: Command, options: CallOptions = {}) => run(command, { session, ...options });

  return {
    ref,
    connection,
    sandbox,
    session,
    directory,
    stateFile: posix.join(connection.stateDir, "sessions", session, "state"),
    spillDirectory,
    run: runHere,
    async text(command, options) {
      const { exitCode, stdout, stderr } = await runHere(command, options);
      expect({ exitCode, stderr }, String(command)).toEqual({ exitCode: 0, stderr: "" });
      return stdout.replace(/\n$/, "");
    },
    start(command, options = {}) {
      const transcript = createTranscript();
      const onOutput = (chunk: Uint8Array, stream: "stdout" | "stderr") => transcript.add(chunk, stream);
      return { result: runHere(command, { onOutput, ...options }), untilPrinted: transcript.until };
    },
    async elsewhere() {
      return createShell({ ...place, on: { ref, connection: await reconnect() }, session, startDirectory: directory });
    },
  };
}

/** A login shell that hangs is given up after `loginLimitMs`, so that no case has to wait for long. */
function impatient(options: Omit<CallMachinery, "files" | "sessions"> & { directory: string; loginLimitMs: number }) {
  const { connection, clock, directory, loginLimitMs } = options;
  const files = filesOf(connection);
  const sessions = createSessions({ connection, files, clock, startDirectory: directory, loginLimitMs });
  return (command: Command, call?: CallOptions) => runCall({ ...options, files, sessions }, command, call);
}
