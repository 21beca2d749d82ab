/** @module Opening a file that somebody untrusted named, so that it cannot be one from elsewhere on this machine. */
import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import { describeError, HoldfastError, systemCode } from "./errors.ts";

// Without O_NONBLOCK, opening a pipe waits for somebody who writes into it.
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

export interface OpenedFile extends AsyncDisposable {
  readonly handle: FileHandle;
  /** Without links. */
  readonly path: string;
  readonly size: number;
}

export interface OpenInsideOptions {
  /** The file must lie strictly inside one of them, all links resolved. Those that do not exist hold nothing. Null: anywhere. */
  readonly within: readonly string[] | null;
  readonly refuse: (reason: string, cause?: unknown) => HoldfastError;
}

/** `path` is absolute. @throws what `refuse` makes of the reason */
export async function openInside(path: string, { within, refuse }: OpenInsideOptions): Promise<OpenedFile> {
  try {
    const roots = within && (await Promise.all(within.map(resolved)));
    const allowed = (real: string) => roots === null || roots.some((root) => root !== null && isInside(real, root));
    const real = await realpath(path);
    if (!allowed(real)) throw refuse("it lies outside");
    const handle = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      // A parent may have become a link after it was resolved: only the open file itself is certain.
      if (process.platform === "linux" && !allowed(await readlink(`/proc/self/fd/${handle.fd}`))) throw refuse("it lies outside");
      const stats = await handle.stat();
      if (!stats.isFile()) throw refuse(stats.isDirectory() ? "it is a directory" : "it is not a regular file");
      return { handle, path: real, size: stats.size, [Symbol.asyncDispose]: () => handle.close() };
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    throw HoldfastError.isInstance(error) ? error : refuse(reasonOf(error), error);
  }
}

/** Strictly: a directory is not inside itself. Compares as written, so both should be resolved. */
export function isInside(path: string, root: string): boolean {
  const way = relative(root, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function resolved(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

function reasonOf(error: unknown): string {
  switch (systemCode(error)) {
    case "ENOENT":
    case "ENOTDIR":
      return "it does not exist";
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case "ELOOP":
      return "its links lead in a circle";
    case "ENXIO":
      return "it is not a regular file";
    default:
      return describeError(error);
  }
}
