/** @module The log of a task: what its workers said, over all runs, within a fixed space (K27). */
import { closeSync, constants, fstatSync, openSync, readSync, renameSync, type Stats, statSync, unlinkSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { describeError, HoldfastError, systemCode } from "../base/errors.ts";
import { makeDirectory } from "../base/make-directory.ts";

// Without O_NONBLOCK, a pipe in the place of the log would be waited for.
const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
const READING = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const NEWLINE = 0x0a;
const MOST_LOOKS = 100;

export interface TaskLogOptions {
  /** No file becomes larger. */
  readonly rotateBytes: number;
  /** How many older files stay, as `.1`, `.2` and so on. */
  readonly backups: number;
  /** A line that says which run begins here. */
  readonly header: string;
}

export interface TaskLog {
  /**
   * Returns when the system has it, so that nothing is lost when this process is killed, and whoever writes too fast waits.
   * @throws `state-write-failed`, for example when the disk is full
   */
  write(chunk: Uint8Array): void;
  close(): void;
}

/** Appends to what is there. A link in the place of the log is refused. @throws `state-write-failed` */
export async function openTaskLog(path: string, { rotateBytes, backups, header }: TaskLogOptions): Promise<TaskLog> {
  await makeDirectory(dirname(path)).catch((error: unknown) => {
    throw writeFailure(path, error);
  });
  return attempt(path, () => {
    dropOlder(path, backups + 1);
    let { fd, size } = openForAppend(path);
    const rotate = () => {
      shift(path, backups);
      const next = openForAppend(path);
      // Only now: were it closed before something fails, its number could soon mean another file.
      closeSync(fd);
      ({ fd, size } = next);
    };
    const write = (chunk: Uint8Array) => {
      for (let rest = chunk; rest.length > 0; ) {
        while (size > 0 && size + Math.min(rest.length, rotateBytes) > rotateBytes) rotate();
        const written = writeSync(fd, rest, 0, Math.min(rest.length, rotateBytes - size));
        size += written;
        rest = rest.subarray(written);
      }
    };
    const line = `${header.replace(/\p{Cc}+/gu, " ")}\n`;
    write(Buffer.from(size > 0 && readTaskLog(path, 1)[0] !== NEWLINE ? `\n${line}` : line));
    return { write: (chunk) => attempt(path, () => write(chunk)), close: () => closeSync(fd) };
  });
}

/** The last bytes, over all files of the log, also while it is being written. Empty when there is none. @throws `state-unreadable` */
export function readTaskLog(path: string, bytes: number): Buffer {
  try {
    const opened = openSnapshot(path);
    try {
      const parts: Buffer[] = [];
      for (let i = 0, left = bytes; i < opened.length && left > 0; i++) {
        const part = readEnd(opened[i] as number, left);
        parts.unshift(part);
        left -= part.length;
      }
      return Buffer.concat(parts);
    } finally {
      opened.forEach(closeSync);
    }
  } catch (error) {
    throw readFailure(path, error);
  }
}

/** The last bytes of what was moved aside before `newest` was begun, or of all there is; the oldest comes first. @throws `state-unreadable` */
export function* readOlderLogs(path: string, { newest, bytes }: { newest: Stats | null; bytes: number }): Generator<Uint8Array> {
  let opened: number[] = [];
  try {
    opened = openSnapshot(path);
    const own = newest === null ? undefined : opened.findIndex((fd) => identity(fstatSync(fd)) === identity(newest));
    // It was moved out of sight meanwhile, and what is older with it.
    if (own === -1) return;
    const wanted: { fd: number; most: number }[] = [];
    let left = bytes;
    for (const fd of own === undefined ? opened : opened.slice(own + 1)) {
      if (left > 0) wanted.unshift({ fd, most: left });
      left -= fstatSync(fd).size;
    }
    for (const { fd, most } of wanted) yield readEnd(fd, most);
  } catch (error) {
    throw readFailure(path, error);
  } finally {
    opened.forEach(closeSync);
  }
}

/** Its newest file, for whoever reads on while it grows. Null when there is none. @throws `state-unreadable` for what is no regular file */
export async function openLogFile(path: string): Promise<FileHandle | null> {
  try {
    const file = await open(path, READING);
    try {
      assertFile(path, await file.stat());
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw readFailure(path, error);
  }
}

/** All files of the log, the newest first. If they are renamed whenever they are opened, the newest one alone. */
function openSnapshot(path: string): number[] {
  for (let looks = 1; ; looks++) {
    const opened = openAll(path);
    if (isWhole(path, opened)) return opened;
    const [newest, ...older] = opened;
    older.forEach(closeSync);
    if (newest === undefined || looks >= MOST_LOOKS) return newest === undefined ? [] : [newest];
    closeSync(newest);
  }
}

/** False if files were renamed while they were opened: then one may be missing in the middle, or be there twice. */
function isWhole(path: string, opened: readonly number[]): boolean {
  const files = opened.map((fd) => identity(fstatSync(fd)));
  const current = [0, 1].map((index) => statSync(nameOf(path, index), { throwIfNoEntry: false })).find((stats) => stats !== undefined);
  return new Set(files).size === files.length && files[0] === (current && identity(current));
}

function openAll(path: string): number[] {
  const opened: number[] = [];
  try {
    for (let index = 0; ; index++) {
      const fd = unlessMissing(() => openSync(nameOf(path, index), READING));
      // A writer that was killed between two steps leaves none under the first name.
      if (fd === undefined && index > 0) return opened;
      if (fd === undefined) continue;
      opened.push(fd);
      assertFile(path, fstatSync(fd));
    }
  } catch (error) {
    opened.forEach(closeSync);
    throw error;
  }
}

function readEnd(fd: number, most: number): Buffer {
  const { size } = fstatSync(fd);
  const buffer = Buffer.alloc(Math.min(size, most));
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(fd, buffer, length, buffer.length - length, size - buffer.length + length);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

function openForAppend(path: string): { fd: number; size: number } {
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    return { fd, size: assertFile(path, fstatSync(fd)).size };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function assertFile(path: string, stats: Stats): Stats {
  if (stats.isFile()) return stats;
  throw new HoldfastError("state-unreadable", `${path} is not a regular file`, { facts: { path } });
}

function shift(path: string, backups: number): void {
  if (backups === 0) unlessMissing(() => unlinkSync(path));
  for (let index = backups; index > 0; index--) unlessMissing(() => renameSync(nameOf(path, index - 1), nameOf(path, index)));
}

/** Files from a time when more were kept. */
function dropOlder(path: string, from: number): void {
  const drop = (index: number) => {
    unlinkSync(nameOf(path, index));
    return true;
  };
  for (let index = from; unlessMissing(() => drop(index)); index++);
}

function nameOf(path: string, index: number): string {
  return index === 0 ? path : `${path}.${index}`;
}

function identity({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw HoldfastError.isInstance(error) ? error : writeFailure(path, error);
  }
}

function readFailure(path: string, error: unknown): HoldfastError {
  if (HoldfastError.isInstance(error)) return error;
  return new HoldfastError("state-unreadable", `cannot read ${path}: ${reasonOf(error)}`, { facts: { path }, cause: error });
}

function writeFailure(path: string, error: unknown): HoldfastError {
  return new HoldfastError("state-write-failed", `cannot write the log ${path}: ${reasonOf(error)}`, {
    facts: { path, systemCode: systemCode(error) },
    cause: error,
  });
}

function reasonOf(error: unknown): string {
  return systemCode(error) === "ELOOP" ? "it is a link, which is not followed" : describeError(error);
}
