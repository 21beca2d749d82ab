/** @module Removing a directory whose content was made by somebody who is not trusted. */
import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, open, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { describeError, HoldfastError, systemCode } from "./errors.ts";
import { randomId } from "./ids.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Of Linux: names a directory that may not be read, so that its permissions can be changed. Node does not list it. */
const O_PATH = 0o10000000;
const OWNER = 0o700;

export interface RemoveTreeOptions {
  /** Hears of each regular file that is gone, by its last name. Only on Linux. */
  readonly onFile?: ((name: Buffer, bytes: number) => void) | undefined;
}

/**
 * Absent is success. Nothing outside is touched, whatever takes the place of what meanwhile. And no tree is too deep, as it is for node's
 * own `rm`, whose paths become longer than the system takes: each directory is moved to the top before it is emptied. Directories that
 * their owner may not read or write are no obstacle to the owner.
 * @throws `state-write-failed`
 */
export async function removeTree(path: string, { onFile }: RemoveTreeOptions = {}): Promise<void> {
  try {
    // Elsewhere a directory that is held open cannot be named.
    await (process.platform === "linux" ? removeHeld(path, onFile) : rm(path, { recursive: true, force: true }));
  } catch (error) {
    throw new HoldfastError("state-write-failed", `cannot remove ${path}: ${describeError(error)}`, {
      facts: { path, systemCode: systemCode(error) },
      cause: error,
    });
  }
}

/** The tree belongs to somebody else, at least in part. */
export function isDenied(error: unknown): error is HoldfastError {
  return HoldfastError.isInstance(error) && (error.facts.systemCode === "EACCES" || error.facts.systemCode === "EPERM");
}

async function removeHeld(path: string, onFile: RemoveTreeOptions["onFile"]): Promise<void> {
  const top = await holdDirectory(path);
  if (top === null) return rm(path, { force: true });
  try {
    // What is moved up in one round is emptied in the next.
    for (let names = await list(top); names.length > 0; names = await list(top)) {
      for (const name of names) await removeEntry(top, name, onFile);
    }
  } finally {
    await top.close();
  }
  await unlessMissing(rmdir(path));
}

async function removeEntry(top: FileHandle, name: Buffer, onFile: RemoveTreeOptions["onFile"]): Promise<void> {
  const path = inside(top, name);
  const directory = await holdDirectory(path);
  if (directory === null) return removeFile(path, { name, onFile });
  try {
    for (const child of await list(directory)) {
      const from = inside(directory, child);
      await removeFile(from, { name: child, onFile }).catch((error: unknown) => {
        if (systemCode(error) !== "EISDIR") throw error;
        return unlessMissing(moveDirectory(from, inside(top, Buffer.from(randomId()))));
      });
    }
  } finally {
    await directory.close();
  }
  await unlessMissing(rmdir(path)).catch((error: unknown) => {
    // ENOTEMPTY: somebody still writes there, and the next round looks again.
    if (systemCode(error) !== "ENOTEMPTY") throw error;
  });
}

async function removeFile(path: Buffer, { name, onFile }: RemoveTreeOptions & { name: Buffer }): Promise<void> {
  if (onFile === undefined) return unlessMissing(unlink(path));
  await unlessMissing(
    lstat(path).then(async (stats) => {
      await unlink(path);
      if (stats.isFile()) onFile(name, stats.size);
    }),
  );
}

async function moveDirectory(from: Buffer, to: Buffer): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (systemCode(error) !== "EACCES") throw error;
    // It changes with its parent, so it must be writable itself.
    await (await holdDirectory(from))?.close();
    await rename(from, to);
  }
}

/** Null when it is none, or not there. */
async function holdDirectory(path: string | Buffer): Promise<FileHandle | null> {
  try {
    const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(async (error: unknown) => {
      if (systemCode(error) !== "EACCES") throw error;
      await unlock(path);
      return await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    });
    // EPERM: it belongs to somebody else, and what cannot be removed then says so.
    if (((await handle.stat()).mode & OWNER) !== OWNER) await handle.chmod(OWNER).catch(unlessCode("EPERM"));
    return handle;
  } catch (error) {
    if (["ELOOP", "ENOTDIR", "ENOENT"].includes(systemCode(error) ?? "")) return null;
    throw error;
  }
}

async function unlock(path: string | Buffer): Promise<void> {
  const named = await open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  try {
    await chmod(`/proc/self/fd/${named.fd}`, OWNER).catch(unlessCode("EPERM"));
  } finally {
    await named.close();
  }
}

function unlessCode(code: string): (error: unknown) => void {
  return (error) => {
    if (systemCode(error) !== code) throw error;
  };
}

/** As bytes: a name need not be text. */
async function list({ fd }: FileHandle): Promise<Buffer[]> {
  try {
    return await readdir(`/proc/self/fd/${fd}`, { encoding: "buffer" });
  } catch (error) {
    // Somebody else removes the same tree.
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

function inside({ fd }: FileHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);
}

async function unlessMissing(work: Promise<void>): Promise<void> {
  await work.catch(unlessCode("ENOENT"));
}
