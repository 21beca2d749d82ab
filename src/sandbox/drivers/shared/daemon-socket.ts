/** @module The socket of a daemon in a directory that the host and the sandbox share: opened carefully, and proved. */
import { once } from "node:events";
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, delay } from "../../../base/clock.ts";
import { describeError, HoldfastError, systemCode, wrapError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { type DaemonLink, type DaemonStream, linkDaemon, openSocket } from "../../daemon/link.ts";

export const SOCKET_FILE = "socket";
export const SECRET_FILE = "secret";
const SECRET_BYTES = 32;
const LONGEST_SOCKET_PATH = 107;
/** How often a daemon may hang up on us before that is what it does. */
const MOST_ENDS = 5;
const PAUSE_MS = 20;

/** Whoever comes second keeps the first one's. */
export async function makeSecret(runDir: string, { mode = 0o600 } = {}): Promise<void> {
  await writeFile(join(runDir, SECRET_FILE), randomId(SECRET_BYTES), { mode, flag: "wx" }).catch((error: unknown) => {
    if (systemCode(error) !== "EEXIST") throw error;
  });
}

/** `none`: nothing is there. `dead`: somebody was, and did not clean up. */
export async function connectSocket(runDir: string): Promise<DaemonStream | "none" | "dead"> {
  const path = join(runDir, SOCKET_FILE);
  const facts = look(path);
  if (facts === null) return "none";
  // A link would lead to somebody else's socket.
  if (!facts.isSocket()) throw daemonFailed(runDir, `${path} is not a socket`);
  await using directory = Buffer.byteLength(path) > LONGEST_SOCKET_PATH ? await open(runDir) : null;
  const socket = openSocket(directory ? `/proc/self/fd/${directory.fd}/${SOCKET_FILE}` : path);
  try {
    await once(socket, "connect");
    return socket;
  } catch (error) {
    if (systemCode(error) === "ECONNREFUSED") return "dead";
    if (systemCode(error) === "ENOENT") return "none";
    throw daemonFailed(runDir, `${path} cannot be opened: ${describeError(error)}`, error);
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

export async function proveLink(socket: DaemonStream, { runDir, clock }: { runDir: string; clock: Clock }): Promise<DaemonLink> {
  try {
    return await linkDaemon(socket, { secret: readSecret(join(runDir, SECRET_FILE)), label: `holdfast ${process.pid}`, clock });
  } catch (error) {
    socket.destroy();
    throw daemonFailed(runDir, describeError(error), error);
  }
}

/** `none`, `dead`: as of `connectSocket`. One that somebody else has just ended may end between our coming and its first word. */
export async function openLink(runDir: string, { clock }: { clock: Clock }): Promise<DaemonLink | "none" | "dead"> {
  for (let attempt = 1; ; attempt++) {
    const found = await connectSocket(runDir);
    if (typeof found === "string") return found;
    try {
      return await proveLink(found, { runDir, clock });
    } catch (error) {
      if (attempt === MOST_ENDS || !(HoldfastError.isInstance(error) && hasEnded(error))) throw error;
    }
    await delay(clock, attempt * PAUSE_MS);
  }
}

function hasEnded({ cause }: HoldfastError): boolean {
  return HoldfastError.isInstance(cause) && cause.code === "sandbox-lost" && !cause.facts.abandoned;
}

/** Whoever is in the sandbox may have put anything in its place: a pipe would be waited for, a link leads to files of the host. */
function readSecret(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const text = Buffer.alloc(2 * SECRET_BYTES);
    const whole = fstatSync(file).isFile() && readSync(file, text) === text.length;
    if (!whole) throw new HoldfastError("state-unreadable", `${path} is not a secret`, { facts: { path } });
    return Buffer.from(text.toString("latin1"), "hex");
  } finally {
    closeSync(file);
  }
}

export function daemonFailed(runDir: string, reason: string, cause?: unknown): HoldfastError {
  // What to do about one of another version is said where that is known.
  const hint = HoldfastError.isInstance(cause) && "protocol" in cause.facts ? { hint: cause.hint } : {};
  return new HoldfastError("daemon-failed", `holdfastd cannot be used in ${runDir}: ${reason}`, {
    facts: { runDir, reason },
    cause,
    ...hint,
  });
}
