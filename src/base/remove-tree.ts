/** @module Removing a directory whose content was made by somebody who is not trusted. */
import { constants } from "node:fs";
import { type FileHandle, open, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { describeError, HoldfastError, systemCode } from "./errors.ts";
import { randomId } from "./ids.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Absent is success. Nothing outside is touched, whatever takes the place of what meanwhile. And no tree is too deep, as it is for node's
 * own `rm`, whose paths become longer than the system takes: each directory is moved to the top before it is emptied.
 * @throws `state-write-failed`
 */
export async function removeTree(path: string): Promise<void> {
  try {
    // Elsewhere a directory that is held open cannot be named.
    await (process.platform === "linux" ? removeHeld(path) : rm(path, { recursive: true, force: true }));
  } catch (error) {
    throw new HoldfastError("state-write-failed", `cannot remove ${path}: ${describeError(error)}`, {
      facts: { path, systemCode: systemCode(error) },
      cause: error,
    });
  }
}

async function removeHeld(path: string): Promise<void> {
  const top = await holdDirectory(path);
  if (top === null) return rm(path, { force: true });
  try {
    // What is moved up in one round is emptied in the next.
    for (let names = await list(top); names.length > 0; names = await list(top)) {
      for (const name of names) await removeEntry(top, name);
    }
  } finally {
    await top.close();
  }
  await unlessMissing(rmdir(path));
}

async function removeEntry(top: FileHandle, name: Buffer): Promise<void> {
  const path = inside(top, name);
  const directory = await holdDirectory(path);
  if (directory === null) return unlessMissing(unlink(path));
  try {
    for (const child of await list(directory)) {
      const from = inside(directory, child);
      await unlessMissing(unlink(from)).catch((error: unknown) => {
        if (systemCode(error) !== "EISDIR") throw error;
        return unlessMissing(rename(from, inside(top, Buffer.from(randomId()))));
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

/** Null when it is none, or not there. */
async function holdDirectory(path: string | Buffer): Promise<FileHandle | null> {
  try {
    return await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (["ELOOP", "ENOTDIR", "ENOENT"].includes(systemCode(error) ?? "")) return null;
    throw error;
  }
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
  await work.catch((error: unknown) => {
    if (systemCode(error) !== "ENOENT") throw error;
  });
}
