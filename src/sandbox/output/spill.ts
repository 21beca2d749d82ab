/** @module The whole output of a call in a file, once it is too long for memory. */
import { type FileHandle, lstat, open, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError, systemCode } from "../../base/errors.ts";
import { randomId } from "../../base/ids.ts";
import { makeDirectory } from "../../base/make-directory.ts";

// As `append` names them.
const OWN_NAME = /^\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z-[0-9a-f]{8}\.log$/;
const KEEP_MS = 7 * 24 * 60 * 60 * 1000;
const KEEP_FILES = 64;
// However many there are: the caller that was told of a file must still find it.
const KEEP_AT_LEAST_MS = 10 * 60 * 1000;

export interface Spill {
  /** Takes the next bytes. While the promise is pending the caller must hold its source back. */
  write(chunk: Uint8Array): void | Promise<void>;
  /** Settles all writing and says what became of the file: its path, and why it is not whole. */
  close(): Promise<{ path: string | null; problem: string | null }>;
  /** Removes the file after `close`: the output turned out to fit in memory. */
  discard(): Promise<void>;
}

export interface SpillOptions {
  directory: string;
  /** Bytes that fit in memory; below that no file is made. */
  threshold: number;
  /** Largest file; 0 = none at all. */
  limit: number;
  clock: Clock;
}

export function createSpill({ directory, threshold, limit, clock }: SpillOptions): Spill {
  let early: Uint8Array[] = [];
  let seen = 0;
  let written = 0;
  let file: FileHandle | undefined;
  let path: string | null = null;
  let problem: string | null = null;
  // Streams are read independently, but bytes must reach the file in the order in which they arrived.
  let queue: Promise<void> = Promise.resolve();

  const append = async (chunk: Uint8Array): Promise<void> => {
    if (problem !== null) return;
    try {
      if (file === undefined) {
        const name = `${new Date(clock.now()).toISOString().replaceAll(":", "")}-${randomId(4)}.log`;
        await prune(directory, clock);
        file = await open(join(directory, name), "wx", 0o600);
        path = join(directory, name);
      }
      const part = chunk.subarray(0, limit - written);
      await writeAll(file, part);
      written += part.length;
      if (part.length < chunk.length) problem = `it holds only the first ${limit} bytes`;
    } catch (error) {
      problem = `it could not be written to the end: ${describeError(error)}`;
    }
  };
  const enqueue = (chunk: Uint8Array): Promise<void> => {
    queue = queue.then(() => append(chunk));
    return queue;
  };

  const remove = async (): Promise<void> => {
    if (path !== null) await unlink(path).catch(ignoreMissing);
    path = null;
  };

  return {
    write(chunk) {
      if (limit === 0 || problem !== null) return;
      seen += chunk.length;
      if (seen <= threshold) {
        early.push(new Uint8Array(chunk));
        return;
      }
      const first = early;
      early = [];
      return enqueue(first.length === 0 ? chunk : Buffer.concat([...first, chunk]));
    },
    async close() {
      await queue;
      await file?.close();
      if (written === 0) await remove();
      return { path, problem };
    },
    discard: remove,
  };
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let offset = 0; offset < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, offset);
    offset += bytesWritten;
  }
}

/** Old overflow files go when a new one is made; nothing else ever reads them. */
async function prune(directory: string, clock: Clock): Promise<void> {
  await makeDirectory(directory);
  // Behind a link are other people's files.
  if ((await lstat(directory)).isSymbolicLink()) throw new Error(`${directory} is a link`);
  const names = (await readdir(directory)).filter((name) => OWN_NAME.test(name)).sort();
  const surplus = names.slice(0, Math.max(0, names.length - KEEP_FILES + 1));
  for (const name of names) {
    const path = join(directory, name);
    const facts = await lstat(path).catch(ignoreMissing);
    const longest = surplus.includes(name) ? KEEP_AT_LEAST_MS : KEEP_MS;
    if (facts?.isFile() && clock.now() - facts.mtimeMs > longest) await unlink(path).catch(ignoreMissing);
  }
}

function ignoreMissing(error: unknown): undefined {
  // Another process pruned it first.
  if (systemCode(error) === "ENOENT") return undefined;
  throw error;
}
