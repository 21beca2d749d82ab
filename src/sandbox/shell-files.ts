/** @module The files of a sandbox through small programs in it, where no daemon runs. */
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { throwIfAborted } from "../base/abort.ts";
import { type ErrorCode, HoldfastError, wrapError } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";
import type { Abortable, Connection, SandboxProcess } from "./driver.ts";
import { type Content, type FileTransport, fileTooLarge } from "./file-transport.ts";
import type { FileInfo } from "./files.ts";

const ABSENT = 44;
const PRESENT = 45;
const MEANINGS: Readonly<Record<number, ErrorCode>> = { [ABSENT]: "file-not-found", [PRESENT]: "file-exists" };
const KILL_GRACE_MS = 2_000;
const LONGEST_MESSAGE = 2_000;

const MUST_BE_FILE = `[ -e "$1" ] || { echo "it is not there" >&2; exit ${ABSENT}; }
[ -f "$1" ] || { echo "it is not a regular file" >&2; exit 1; }`;
const READ = `${MUST_BE_FILE}; exec head -c "$2" -- "$1"`;
const STREAM = `${MUST_BE_FILE}; exec cat -- "$1"`;
const BESIDE = 't=$(dirname -- "$1")/.holdfast-$2';
/** Only aside: a source that fails looks like one that ends, so what came is put into place by a program of its own. */
const WRITE = `if [ -d "$1" ]; then echo "it is a directory" >&2; exit 1; fi
d=$(dirname -- "$1")
if [ "$3" = true ]; then (umask 077 && mkdir -p -- "$d") || exit 1; fi
[ -d "$d" ] || { echo "its directory is not there" >&2; exit ${ABSENT}; }
${BESIDE}; umask 077; exec cat >"$t"`;
const COMMIT = `${BESIDE}; chmod "$3" "$t" && exec mv -f -- "$t" "$1"`;
const DISCARD = `${BESIDE}; exec rm -f -- "$t"`;
/** One record per entry: mode in hexadecimal, size, time, name; then where it points to. */
const SHOW = `show() { printf '%s/%s\\0%s\\0' "$(stat $follow -c %f/%s/%Y -- "$1")" "\${1##*/}" "$(if [ -L "$1" ] && [ -z "$follow" ]; then readlink -- "$1"; fi)"; }`;
const LIST = `follow=; ${SHOW}
[ -e "$1" ] || { echo "it is not there" >&2; exit ${ABSENT}; }
cd -- "$1" || exit 1
for name in * .*; do
  case $name in . | ..) continue ;; esac
  if [ -e "./$name" ] || [ -L "./$name" ]; then show "./$name"; fi
done`;
const STAT = `follow=; if [ "$2" = true ]; then follow=-L; fi; ${SHOW}
if [ ! -e "$1" ]; then if [ ! -L "$1" ] || [ -n "$follow" ]; then echo "it is not there" >&2; exit ${ABSENT}; fi; fi
show "$1"`;
const REMOVE = `if [ "$2" = true ]; then exec rm -rf -- "$1"; fi
if [ -d "$1" ] && [ ! -L "$1" ]; then exec rmdir -- "$1"; fi
exec rm -f -- "$1"`;
const MKDIR = `if [ "$3" = true ]; then if [ -d "$1" ]; then exit 0; fi; exec mkdir -p -m "$2" -- "$1"; fi
if [ -e "$1" ] || [ -L "$1" ]; then echo "it is there already" >&2; exit ${PRESENT}; fi
exec mkdir -m "$2" -- "$1"`;

const KINDS = new Map<number, FileInfo["kind"]>([
  [0o100000, "file"],
  [0o040000, "directory"],
  [0o120000, "link"],
]);

interface Program {
  readonly what: string;
  readonly script: string;
  readonly path: string;
  readonly args?: readonly (string | number | boolean)[];
  readonly content?: Content;
  onOutput?(chunk: Uint8Array): void | Promise<void>;
  /** Called once it runs. */
  onStart?(process: SandboxProcess): void;
}

export function createShellFiles(connection: Pick<Connection, "spawn">): FileTransport {
  /** Runs it to its end. */
  const run = async (program: Program, { signal }: Abortable = {}): Promise<void> => {
    const { what, script, path, args = [], content, onOutput } = program;
    const notDone = `cannot ${what} ${path}: it was cancelled`;
    throwIfAborted(signal, notDone);
    let message = "";
    const process = await connection.spawn(["sh", "-c", script, "sh", path, ...args.map(String)], {
      stdin: content === undefined ? "none" : "pipe",
      onOutput(chunk, stream) {
        if (stream === "stdout") return onOutput?.(chunk);
        message = (message + Buffer.from(chunk).toString("utf8")).slice(0, LONGEST_MESSAGE);
      },
    });
    program.onStart?.(process);
    const stop = () => void process.kill({ graceMs: KILL_GRACE_MS });
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
    try {
      const failure = await feed(process, content);
      const { exitCode } = await process.ended;
      throwIfAborted(signal, notDone);
      if (failure) throw wrapError(failure.error, "invalid-input", `cannot ${what} ${path}: its source failed`, { facts: { path } });
      if (exitCode !== 0)
        throw new HoldfastError(MEANINGS[exitCode] ?? "file-failed", `cannot ${what} ${path}: ${message.trim()}`, { facts: { path } });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  };
  const collect = async (program: Program, options?: Abortable): Promise<Buffer> => {
    const parts: Uint8Array[] = [];
    await run({ ...program, onOutput: (chunk) => void parts.push(Uint8Array.from(chunk)) }, options);
    return Buffer.concat(parts);
  };

  return {
    async read(path, { maxBytes, ...options }) {
      const bytes = await collect({ what: "read", script: READ, path, args: [maxBytes + 1] }, options);
      if (bytes.length > maxBytes) throw fileTooLarge(path, maxBytes);
      return bytes;
    },
    async readStream(path, options) {
      const stream = new PassThrough();
      const begun = Promise.withResolvers<void>();
      let goOn = () => {};
      stream.on("drain", () => goOn()).on("close", () => goOn());
      const onOutput = (chunk: Uint8Array): void | Promise<void> => {
        begun.resolve();
        if (stream.destroyed || stream.write(Buffer.from(chunk))) return;
        return new Promise((resolve) => {
          goOn = resolve;
        });
      };
      const fail = (error: Error) => {
        begun.reject(error);
        stream.destroy(error);
      };
      const onStart = (process: SandboxProcess) => void stream.once("close", () => void process.kill({ graceMs: 0 }));
      // At once: the program cannot end while it waits for a reader who has given up.
      const { signal } = options;
      const giveUp = () => fail(new HoldfastError("aborted", `cannot read ${path}: it was cancelled`, { cause: signal?.reason }));
      signal?.addEventListener("abort", giveUp, { once: true });
      // Nobody has it yet; from the moment it is handed over, its errors are the holder's.
      const nothing = () => {};
      stream.on("error", nothing);
      run({ what: "read", script: STREAM, path, onOutput, onStart }, options)
        .then(() => {
          begun.resolve();
          stream.end();
        }, fail)
        .finally(() => signal?.removeEventListener("abort", giveUp));
      await begun.promise;
      stream.off("error", nothing);
      return stream;
    },
    async write(path, { content, mode, parents, ...options }) {
      const id = randomId(12);
      try {
        await run({ what: "write", script: WRITE, path, args: [id, parents], content }, options);
        await run({ what: "write", script: COMMIT, path, args: [id, mode.toString(8)] }, options);
      } catch (error) {
        // Best effort: what made the writing fail may make this fail too, and is what has to be told.
        await Promise.allSettled([run({ what: "clean up beside", script: DISCARD, path, args: [id] })]);
        throw error;
      }
    },
    async list(path) {
      return parseEntries(await collect({ what: "list", script: LIST, path }));
    },
    async stat(path, { follow }) {
      const [entry] = parseEntries(await collect({ what: "look at", script: STAT, path, args: [follow] }));
      if (!entry) throw new HoldfastError("file-failed", `cannot look at ${path}: it has just gone`, { facts: { path } });
      return entry;
    },
    remove: (path, { recursive }) => run({ what: "remove", script: REMOVE, path, args: [recursive] }),
    mkdir: (path, { mode, parents }) => run({ what: "make", script: MKDIR, path, args: [mode.toString(8), parents] }),
  };
}

/** A source that fails ends the program, so that it does not take what came for the whole. */
async function feed(process: SandboxProcess, content: Content | undefined): Promise<{ readonly error: unknown } | null> {
  if (!(content instanceof Readable)) {
    process.stdin?.end(content);
    return null;
  }
  if (process.stdin === null) return null;
  const over = new AbortController();
  const stop = () => over.abort();
  process.ended.then(stop, stop);
  try {
    await pipeline(content, process.stdin, { signal: over.signal });
    return null;
  } catch (error) {
    if (over.signal.aborted) return null;
    await process.kill({ graceMs: KILL_GRACE_MS });
    return { error };
  }
}

function parseEntries(output: Buffer): FileInfo[] {
  const fields = output.toString("utf8").split("\0");
  const found: FileInfo[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [mode = "", size = "", seconds = "", ...name] = (fields[index] ?? "").split("/");
    const bits = Number.parseInt(mode, 16);
    const kind = KINDS.get(bits & 0o170000) ?? "other";
    // An entry that went away between the listing and the look has no mode.
    if (!Number.isInteger(bits)) continue;
    const target = kind === "link" ? (fields[index + 1] ?? "") : null;
    found.push({ name: name.join("/"), kind, mode: bits & 0o7777, size: Number(size), modifiedAt: Number(seconds) * 1000, target });
  }
  return found;
}
