/** @module A directory of the host that is held open, so that nobody can put a link in its place while it is walked or filled. */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, systemCode } from "../../base/errors.ts";
import { randomId } from "../../base/ids.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

export interface HeldDirectory extends AsyncDisposable {
  readonly handle: FileHandle;
  /** Where an entry of it is. Only the last part of what this returns may turn out to be a link. */
  at(name: string): string;
}

/** Follows links: the directory that the caller names is the caller's choice. */
export async function holdRoot(path: string): Promise<HeldDirectory> {
  return hold(await open(path, O_RDONLY | O_DIRECTORY), path);
}

/** @throws ELOOP or ENOTDIR when it is a link or no directory */
export async function holdInside(parent: HeldDirectory, name: string): Promise<HeldDirectory> {
  const path = parent.at(name);
  return hold(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
}

/** True when it was not there. */
export async function makeInside(parent: HeldDirectory, name: string): Promise<boolean> {
  try {
    await mkdir(parent.at(name), { mode: 0o700 });
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Makes something under a name that nobody knows, and moves it into place: whoever looks sees the old or the new, and no link is followed. */
export async function putInside(parent: HeldDirectory, name: string, make: (path: string) => Promise<void>): Promise<void> {
  const path = parent.at(`.holdfast-${randomId(12)}`);
  try {
    await make(path);
    await rename(path, parent.at(name));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** Names the place in the tree; the host's own message would name a number in /proc. */
export function treeError(action: string, path: string, error: unknown): unknown {
  if (HoldfastError.isInstance(error)) return error;
  const code = systemCode(error);
  if (code === undefined) return error;
  const why = code === "ELOOP" || code === "ENOTDIR" ? "it is a link or no directory on the host" : code;
  return new HoldfastError("file-failed", `cannot ${action} ${path}: ${why}`, { facts: { path, systemCode: code }, cause: error });
}

function hold(handle: FileHandle, path: string): HeldDirectory {
  // Elsewhere there is no way from a descriptor to a path, and the gap between looking and opening stays.
  const base = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : path;
  return { handle, at: (name) => join(base, name), [Symbol.asyncDispose]: () => handle.close() };
}
