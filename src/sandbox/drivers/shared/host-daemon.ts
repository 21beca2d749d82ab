/** @module A holdfastd on the host itself: found by its socket, or started. */
import { execFile } from "node:child_process";
import { throwIfAborted } from "../../../base/abort.ts";
import { type Clock, delay } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { Logger } from "../../../base/log.ts";
import type { DaemonLink } from "../../daemon/link.ts";
import { irreplaceable, isOlder, retire, stopDaemon } from "../../daemon/older.ts";
import { daemonFailed, openLink, SECRET_FILE, SOCKET_FILE } from "./daemon-socket.ts";

/** Marks the daemon and its keepers in the table of processes, with the id of their sandbox. */
export const DAEMON_VARIABLE = "HOLDFAST_DAEMON";

const EXIT_RUNNING = 3;
/** Another process may have begun to start it, and holds the lock, but does not listen yet. */
const START_ATTEMPTS = 200;
const ATTEMPT_PAUSE_MS = 25;
const WHEN_BUSY =
  "wait until that has ended, then the next use replaces the daemon; `holdfast sandbox rm TASK` ends what runs, and touches no files but the sessions' own";

export interface HostDaemonOptions {
  /** Of holdfastd. */
  readonly program: string;
  /** Private to the daemon and us: socket, lock, secret, and the output of background processes. */
  readonly runDir: string;
  readonly sandboxId: string;
  readonly hostEnv: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
}

export interface HostDaemon {
  readonly link: DaemonLink;
  /** One that ran before ended without being asked to. */
  readonly restarted: boolean;
}

export async function openHostDaemon(options: HostDaemonOptions): Promise<HostDaemon> {
  const { runDir, clock, log, signal } = options;
  let restarted = false;
  let started = false;
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    throwIfAborted(signal, "the sandbox was not opened");
    const link = await openLink(runDir, { clock });
    if (typeof link !== "string") {
      if (!isOlder(link)) return { link, restarted };
      if (started) {
        await link[Symbol.asyncDispose]();
        throw irreplaceable(link);
      }
      await retire(link, { clock, hint: WHEN_BUSY });
      log.info("an idle daemon of an earlier version makes way for one of this version", { sandbox: options.sandboxId });
      continue;
    }
    if (attempt === 0) restarted = link === "dead";
    const begun = await start(options);
    started ||= begun === "started";
    if (begun === "starting") await delay(clock, ATTEMPT_PAUSE_MS);
  }
  throw daemonFailed(runDir, "it runs, but does not listen on its socket");
}

/** Ends the daemon and everything that it runs, and waits for that. Harmless when there is none. */
export async function stopHostDaemon(runDir: string, { clock, graceMs }: { clock: Clock; graceMs: number }): Promise<void> {
  const link = await openLink(runDir, { clock });
  if (typeof link !== "string") await stopDaemon(link, graceMs);
}

async function start({ program, runDir, sandboxId, hostEnv }: HostDaemonOptions): Promise<"started" | "starting"> {
  // Relative, because the path of a socket may not be longer than 107 bytes.
  const args = ["serve", "--socket", SOCKET_FILE, "--state", runDir, "--secret-file", SECRET_FILE, "--background"];
  const { code, errors } = await new Promise<{ code: unknown; errors: string }>((resolve) => {
    execFile(program, args, { cwd: runDir, env: { ...hostEnv, [DAEMON_VARIABLE]: sandboxId } }, (error, _, stderr) =>
      resolve({ code: error?.code ?? 0, errors: stderr.trim() || (error ? describeError(error) : "") }),
    );
  });
  if (code === 0) return "started";
  if (code === EXIT_RUNNING) return "starting";
  throw daemonFailed(runDir, errors);
}
