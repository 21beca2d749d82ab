/** @module Small private files through programs inside the sandbox, for connections without a faster way. */
import { systemClock } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Connection, FileAccess, FileEntry, SandboxProcess } from "./driver.ts";

const ABSENT = 44;
/** Far more than a session has. Programs in a sandbox may be anything, also ones that never stop writing. */
const LARGEST_BYTES = 16 * 1024 * 1024;
const LIMIT_MS = 30_000;

export function filesOf(connection: Connection): FileAccess {
  return connection.files ?? createFilesOverSpawn(connection);
}

export function createFilesOverSpawn(connection: Pick<Connection, "spawn">): FileAccess {
  /** Paths are arguments, never part of the script. */
  const run = async (script: string, path: string, input?: Uint8Array) => {
    const out: Uint8Array[] = [];
    const errors: Uint8Array[] = [];
    let size = 0;
    let started: SandboxProcess | undefined;
    const end = () => void started?.kill({ graceMs: 0 }).catch(() => {});
    const process = await connection.spawn(["sh", "-c", script, "sh", path], {
      stdin: input === undefined ? "none" : "pipe",
      onOutput(chunk, stream) {
        size += chunk.length;
        if (size > LARGEST_BYTES) {
          // Not every connection ends what it cannot hand on.
          end();
          throw tooMuch(path);
        }
        (stream === "stdout" ? out : errors).push(new Uint8Array(chunk));
      },
    });
    started = process;
    process.stdin?.end(input);
    const limit = systemClock.after(LIMIT_MS, end);
    const { exitCode } = await process.ended
      .catch(async (error: unknown) => {
        await process.kill({ graceMs: 0 });
        throw error;
      })
      .finally(() => limit.cancel());
    return { exitCode, output: Buffer.concat(out), message: Buffer.concat(errors).toString("utf8").trim() };
  };

  return {
    async read(path) {
      const { exitCode, output, message } = await run(`[ -e "$1" ] || exit ${ABSENT}; exec cat -- "$1"`, path);
      if (exitCode === ABSENT) return null;
      if (exitCode !== 0) throw new HoldfastError("state-unreadable", `cannot read ${path}: ${message}`, { facts: { path } });
      return output;
    },
    async write(path, bytes) {
      const { exitCode, message } = await run(`umask 077; mkdir -p -- "$(dirname -- "$1")" && exec cat >"$1"`, path, bytes);
      if (exitCode !== 0) throw new HoldfastError("state-write-failed", `cannot write ${path}: ${message}`, { facts: { path } });
    },
    async list(path) {
      const script = `cd -- "$1" 2>/dev/null || exit ${ABSENT}
for name in * .*; do
  case $name in . | ..) continue ;; esac
  if [ -e "$name" ] || [ -L "$name" ]; then printf '%s/%s\\0' "$(stat -c %F/%Y -- "$name")" "$name"; fi
done`;
      const { exitCode, output, message } = await run(script, path);
      if (exitCode === ABSENT) return [];
      if (exitCode !== 0) throw new HoldfastError("state-unreadable", `cannot list ${path}: ${message}`, { facts: { path } });
      return output.toString("utf8").split("\0").filter(Boolean).map(parseEntry);
    },
    async remove(path) {
      const { exitCode, message } = await run(`exec rm -rf -- "$1"`, path);
      if (exitCode !== 0) throw new HoldfastError("state-write-failed", `cannot remove ${path}: ${message}`, { facts: { path } });
    },
  };
}

function tooMuch(path: string): HoldfastError {
  return new HoldfastError("state-unreadable", `what the sandbox says about ${path} is larger than ${LARGEST_BYTES} bytes`, {
    facts: { path },
  });
}

function parseEntry(line: string): FileEntry {
  const [kind, seconds, ...name] = line.split("/");
  return { name: name.join("/"), directory: kind === "directory", modifiedAt: Number(seconds) * 1000 };
}
