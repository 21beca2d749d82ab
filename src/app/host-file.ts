/** @module Files of the host that a copy writes. */
import { type FileHandle, open, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { describeError, HoldfastError, systemCode } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";

export interface WriteHostFileOptions {
  readonly mode: number;
  readonly signal?: AbortSignal;
}

/**
 * Puts all of `content` under `path` as one step; on any failure the file is as it was and nothing else is left. A link is followed.
 * What is no regular file, a pipe or a terminal, is written to instead of being replaced.
 */
export async function writeHostFile(path: string, content: Readable, { mode, signal }: WriteHostFileOptions): Promise<void> {
  const special = await isSpecial(path);
  const options = { mode, ...(signal ? { signal } : {}) };
  if (special) return fill(await openHost(path, path, "w"), content, { ...options, mode: null });
  const target = await realpath(path).catch(() => path);
  const temporary = join(dirname(target), `.${basename(target).slice(0, 100)}.${randomId(6)}.tmp`);
  // Not readable by others before its mode is known to hold.
  const handle = await openHost(path, temporary, "wx");
  try {
    await fill(handle, content, options);
    await rename(temporary, target).catch((error: unknown) => Promise.reject(hostFailed(path, error)));
  } catch (error) {
    // ENOENT: it was renamed after all. Any other failure matters less than the one being reported.
    await unlink(temporary).catch(() => {});
    throw error;
  }
}

/** One sentence for a failed system call on the host. */
export function hostFailed(path: string, error: unknown): HoldfastError {
  if (HoldfastError.isInstance(error)) return error;
  const code = systemCode(error);
  const options = { hint: "correct the path on the host, or its permissions", facts: { path, systemCode: code ?? null }, cause: error };
  if (code === "ENOENT") return new HoldfastError("file-not-found", `there is no ${path} on the host`, options);
  return new HoldfastError("file-failed", `${path} on the host cannot be used: ${describeError(error)}`, options);
}

/** The temporary name is of no interest to anybody. */
async function openHost(shown: string, path: string, flags: string): Promise<FileHandle> {
  return open(path, flags, 0o600).catch((error: unknown) => Promise.reject(hostFailed(shown, error)));
}

async function fill(
  handle: FileHandle,
  content: Readable,
  { mode, signal }: Pick<WriteHostFileOptions, "signal"> & { mode: number | null },
): Promise<void> {
  try {
    await handle.writeFile(content, signal ? { signal } : {});
    if (mode !== null) await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}

async function isSpecial(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    return !found.isFile() && !found.isDirectory();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return false;
    throw hostFailed(path, error);
  }
}
