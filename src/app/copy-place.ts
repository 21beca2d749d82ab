/** @module The two ends of a copy: a path on the host, or one in the sandbox of a task. */
import { createReadStream } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { basename, join, posix } from "node:path";
import type { Readable } from "node:stream";
import { HoldfastError, systemCode } from "../base/errors.ts";
import type { Files } from "../sandbox/files.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { hostFailed, writeHostFile } from "./host-file.ts";

/** Fewer and larger pieces than usual: each costs the same. */
const READ_BYTES = 256 * 1024;

export interface PlaceInfo {
  readonly directory: boolean;
  /** Neither a file nor a directory: reading a pipe or a device may never end. */
  readonly special: boolean;
  readonly mode: number;
}

export interface WriteOptions {
  readonly mode: number;
  readonly signal?: AbortSignal;
}

/** One end, whichever side it is on. */
export interface Place {
  /** For people. */
  readonly shown: string;
  readonly path: string;
  /** In the sandbox of this end; null on the host. */
  readonly files: Files | null;
  /** What it would be called in a directory; null for `.`, `~` and the like, which stand for what is in them. */
  readonly name: string | null;
  /** Whoever wrote it meant a directory. */
  readonly meansDirectory: boolean;
  /** Null when there is nothing. */
  info(): Promise<PlaceInfo | null>;
  read(signal?: AbortSignal): Promise<Readable>;
  write(content: Readable, options: WriteOptions): Promise<void>;
  /** Makes this one directory, unless it is there. */
  makeDirectory(mode: number): Promise<void>;
  inside(name: string): Place;
}

export function hostPlace(path: string): Place {
  return {
    shown: path,
    path,
    files: null,
    name: lastPart(path),
    meansDirectory: endsLikeDirectory(path),
    async info() {
      try {
        const found = await stat(path);
        const special = !found.isFile() && !found.isDirectory();
        return { directory: found.isDirectory(), special, mode: special ? 0o644 : found.mode & 0o777 };
      } catch (error) {
        if (systemCode(error) === "ENOENT") return null;
        throw hostFailed(path, error);
      }
    },
    async read(signal) {
      const handle = await open(path, "r").catch((error: unknown) => Promise.reject(hostFailed(path, error)));
      return createReadStream(path, { fd: handle, highWaterMark: READ_BYTES, ...(signal ? { signal } : {}) });
    },
    write: (content, options) => writeHostFile(path, content, options),
    async makeDirectory(mode) {
      try {
        // The owner must be able to put files in.
        await mkdir(path, { mode: mode | 0o700 });
      } catch (error) {
        if (systemCode(error) !== "EEXIST") throw hostFailed(path, error);
      }
    },
    inside: (name) => hostPlace(join(path, name)),
  };
}

/** `path` is absolute; `written` is how its user wrote it. */
export function sandboxPlace(files: Files, path: string, written: { task: string; path: string }): Place {
  return {
    shown: `${written.task}:${path}`,
    path,
    files,
    // Not that of the home directory: whoever is in the sandbox could choose the name of something on the host.
    name: written.path.replace(/\/+$/, "") === "~" ? null : lastPart(written.path),
    meansDirectory: endsLikeDirectory(written.path),
    async info() {
      try {
        const { kind, mode } = await files.stat(path, { follow: true });
        return { directory: kind === "directory", special: kind === "other", mode: mode & 0o777 };
      } catch (error) {
        if (HoldfastError.isInstance(error) && error.code === "file-not-found") return null;
        throw error;
      }
    },
    read: (signal) => files.readStream(path, signal ? { signal } : {}),
    write: (content, options) => files.write(path, content, { ...options, parents: false }),
    makeDirectory: (mode) => files.mkdir(path, { mode: mode | 0o700 }),
    inside: (name) => sandboxPlace(files, posix.join(path, name), { task: written.task, path: name }),
  };
}

/** Relative paths count from the session's directory, `~` is the home of the sandbox's user. */
export async function absoluteInSandbox(sandbox: Sandbox, path: string, session: string): Promise<string> {
  if (path.startsWith("/")) return posix.normalize(path);
  const { cwd, cwdRecovered, stdout } = await sandbox.run('builtin printf %s "${HOME-}"', { session });
  if (path === "~" || path.startsWith("~/")) return posix.join("/", stdout, path.slice(1));
  if (cwdRecovered === null) return posix.resolve(cwd, path);
  throw new HoldfastError("cwd-invalid", `${cwdRecovered.from}, where session ${session} was, no longer exists`, {
    hint: "write an absolute path",
    facts: { cwd: cwdRecovered.from, session },
  });
}

function lastPart(path: string): string | null {
  if (/(^|\/)\.{0,2}\/*$/.test(path.replace(/([^/])\/+$/, "$1"))) return null;
  return basename(path);
}

function endsLikeDirectory(path: string): boolean {
  return /(^|\/)\.{0,2}$/.test(path);
}
