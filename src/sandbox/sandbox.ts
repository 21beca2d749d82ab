/** @module A sandbox in use: calls and sessions on top of a connection, the same for every driver. */
import type { Clock } from "../base/clock.ts";
import { describeError, HoldfastError } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";
import { DEFAULT_SESSION, parseSessionName } from "../base/names.ts";
import { suggest } from "../base/suggest.ts";
import type { CallOptions, CallResult, Command } from "./call.ts";
import { type DaemonStatus, daemonStatus } from "./daemon/status.ts";
import type { Connection, SandboxRef } from "./driver.ts";
import type { Files } from "./files.ts";
import { filesOf } from "./files-over-spawn.ts";
import type { OutputLimits } from "./output/recorder.ts";
import type { Processes } from "./process.ts";
import { createProcesses } from "./processes.ts";
import { type CallMachinery, runCall } from "./run-call.ts";
import { createSandboxFiles } from "./sandbox-files.ts";
import { createSessions, type SessionInfo } from "./session/sessions.ts";

export interface Sandbox {
  readonly ref: SandboxRef;
  /** Runs a command in the foreground. A command that fails is a result; only a failing sandbox rejects. */
  run(command: Command, options?: CallOptions): Promise<CallResult>;
  readonly sessions: {
    list(): Promise<SessionInfo[]>;
    /** @throws `session-not-found` */
    remove(name: string): Promise<void>;
  };
  readonly processes: Processes;
  readonly files: Files;
  /** Who uses it and what for. Null where holdfastd does not run. */
  status(): Promise<DaemonStatus | null>;
}

export interface SandboxOptions {
  ref: SandboxRef;
  connection: Connection;
  clock: Clock;
  limits: OutputLimits;
  defaultTimeoutMs: number;
  /** Where sessions begin: absolute inside the sandbox, or beginning with `~`. Null: in a directory that was deleted. */
  startDirectory: string | null;
  /**
   * False: each call has a session to itself, which goes with it.
   * @default true
   */
  keepSessions?: boolean;
}

export function createSandbox({
  ref,
  connection,
  clock,
  limits,
  defaultTimeoutMs,
  startDirectory,
  keepSessions = true,
}: SandboxOptions): Sandbox {
  const files = filesOf(connection);
  const image = ref.settings?.image;
  const sessions = createSessions({ connection, files, clock, startDirectory, image });
  // Told once, with the first result.
  let restarted = connection.restarted ?? false;
  const machinery = { connection, files, sessions, image, clock, limits, defaultTimeoutMs };
  const call = keepSessions ? runCall : runAlone;
  return {
    ref,
    async run(command, options) {
      const result = await call(machinery, command, options);
      if (!restarted) return result;
      restarted = false;
      return { ...result, restarted: true };
    },
    sessions: {
      list: () => sessions.list(),
      async remove(name) {
        if (await sessions.remove(name)) return;
        const meant = suggest(name, new Set((await sessions.list()).map((session) => session.name)));
        throw new HoldfastError("session-not-found", `there is no session ${name} in the sandbox of task ${ref.owner.task}`, {
          hint: meant && `did you mean "${meant}"?`,
          facts: { session: name },
        });
      },
    },
    processes: createProcesses(machinery),
    files: createSandboxFiles(connection),
    status: async () => (connection.daemon ? daemonStatus(connection.daemon.link) : null),
  };
}

/** In a session that nobody else sees: nothing is restored, and nothing stays of it. */
async function runAlone(machinery: CallMachinery, command: Command, options: CallOptions = {}): Promise<CallResult> {
  const asked = parseSessionName(options.session ?? DEFAULT_SESSION);
  const session = `call-${randomId(8)}`;
  const remove = () => machinery.sessions.remove(session);
  const result = await runCall(machinery, command, { ...options, session }).catch(async (error: unknown) => {
    // What the call failed of is what counts; a sandbox that is gone has no sessions left.
    await remove().catch(() => {});
    throw error;
  });
  const left = await remove().then(
    () => [],
    (error: unknown) => [`the state of the call was left behind: ${describeError(error)}`],
  );
  const unused = asked === DEFAULT_SESSION ? [] : [`session ${asked} was not used, because terminal.persistent_shell is false`];
  return { ...result, session: asked, warnings: [...result.warnings, ...unused, ...left] };
}
