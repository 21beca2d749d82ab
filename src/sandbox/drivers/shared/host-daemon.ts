/** @module A holdfastd on the host itself: found by its socket, or started. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { lstatSync, readFileSync, type Stats } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { throwIfAborted } from "../../../base/abort.ts";
import { type Clock, delay } from "../../../base/clock.ts";
import { describeError, HoldfastError, systemCode, wrapError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { makeDirectory } from "../../../base/make-directory.ts";
import { type DaemonLink, type DaemonStream, linkDaemon, openSocket } from "../../daemon/link.ts";
import { FROM_CLIENT } from "../../daemon/types.ts";
import { createWriter } from "../../daemon/wire.ts";

/** Marks the daemon and its keepers in the table of processes, with the id of their sandbox. */
export const DAEMON_VARIABLE = "HOLDFAST_DAEMON";

const SOCKET_FILE = "socket";
const SECRET_FILE = "secret";
const SECRET_BYTES = 32;
const LONGEST_SOCKET_PATH = 107;
const EXIT_RUNNING = 3;
/** Another process may have begun to start it, and holds the lock, but does not listen yet. */
const START_ATTEMPTS = 200;
const ATTEMPT_PAUSE_MS = 25;

export interface HostDaemonOptions {
  /** Of holdfastd. */
  readonly program: string;
  /** Private to the daemon and us: socket, lock, secret, and the output of background processes. */
  readonly runDir: string;
  readonly sandboxId: string;
  readonly hostEnv: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

export interface HostDaemon {
  readonly link: DaemonLink;
  /** One that ran before ended without being asked to. */
  readonly restarted: boolean;
}

export async function makeSecret(runDir: string): Promise<void> {
  await makeDirectory(runDir);
  await writeFile(join(runDir, SECRET_FILE), randomId(SECRET_BYTES), { mode: 0o600, flag: "wx" });
}

export async function openHostDaemon(options: HostDaemonOptions): Promise<HostDaemon> {
  const { runDir, clock, signal } = options;
  let restarted = false;
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    throwIfAborted(signal, "the sandbox was not opened");
    const found = await connectSocket(runDir);
    if (typeof found !== "string") return { link: await proveLink(found, { runDir, clock }), restarted };
    if (attempt === 0) restarted = found === "dead";
    if ((await start(options)) === "starting") await delay(clock, ATTEMPT_PAUSE_MS);
  }
  throw failed(runDir, "it runs, but does not listen on its socket");
}

/** Ends the daemon and everything that it runs, and waits for that. Harmless when there is none. */
export async function stopHostDaemon(runDir: string, { clock, graceMs }: { clock: Clock; graceMs: number }): Promise<void> {
  const found = await connectSocket(runDir);
  if (typeof found === "string") return;
  const link = await proveLink(found, { runDir, clock });
  link.open(FROM_CLIENT.stop, createWriter().u32(graceMs).done(), { onFrame: () => false, onLost: () => {} });
  await link.closed;
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
  throw failed(runDir, errors);
}

/** `none`: nothing is there. `dead`: somebody was, and did not clean up. */
async function connectSocket(runDir: string): Promise<DaemonStream | "none" | "dead"> {
  const path = join(runDir, SOCKET_FILE);
  const facts = look(path);
  if (facts === null) return "none";
  // A link would lead to somebody else's socket.
  if (!facts.isSocket()) throw failed(runDir, `${path} is not a socket`);
  await using directory = Buffer.byteLength(path) > LONGEST_SOCKET_PATH ? await open(runDir) : null;
  const socket = openSocket(directory ? `/proc/self/fd/${directory.fd}/${SOCKET_FILE}` : path);
  try {
    await once(socket, "connect");
    return socket;
  } catch (error) {
    if (systemCode(error) === "ECONNREFUSED") return "dead";
    if (systemCode(error) === "ENOENT") return "none";
    throw failed(runDir, `${path} cannot be opened: ${describeError(error)}`, error);
  }
}

/** Not through node's thread pool, as above all for small files that every call begins with: the way there takes ten times as long. */
function look(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw wrapError(error, "daemon-failed", `cannot look at ${path}`, { facts: { path } });
  }
}

async function proveLink(socket: DaemonStream, { runDir, clock }: { runDir: string; clock: Clock }): Promise<DaemonLink> {
  try {
    const secret = Buffer.from(readFileSync(join(runDir, SECRET_FILE), "latin1"), "hex");
    return await linkDaemon(socket, { secret, label: `holdfast ${process.pid}`, clock });
  } catch (error) {
    socket.destroy();
    throw failed(runDir, describeError(error), error);
  }
}

function failed(runDir: string, reason: string, cause?: unknown): HoldfastError {
  return new HoldfastError("daemon-failed", `holdfastd cannot be used in ${runDir}: ${reason}`, { facts: { runDir, reason }, cause });
}
