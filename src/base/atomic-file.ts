/** @module Writing a file so that a reader, or a crash, meets the old content or the new, never a part of it. */
import { type FileHandle, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describeError, HoldfastError, systemCode } from "./errors.ts";
import { randomId } from "./ids.ts";

export interface WriteFileOptions {
  /** Permissions of the new file, whatever the umask. */
  readonly mode: number;
  /** Whose file it shall be; without it, the current user's. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Replaces `path` as one step. A link at `path` is replaced by the file, not followed; hard links keep the old content.
 * @throws `state-write-failed`; then `path` is as it was and nothing else is left behind.
 */
export async function writeFileAtomic(path: string, data: string | Uint8Array, { mode, owner }: WriteFileOptions): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomId(6)}.tmp`);
  try {
    const handle = await open(temporary, "wx", mode);
    try {
      await fill(handle, data, { mode, owner });
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    // ENOENT: it was never made. Any other failure matters less than the one being reported.
    await unlink(temporary).catch(() => {});
    throw writeFailed(path, error);
  }
  await syncDirectory(dirname(path));
}

/** `state-write-failed` for `path`, with the reason in words. A HoldfastError is returned as it is. */
export function writeFailed(path: string, error: unknown): HoldfastError {
  if (HoldfastError.isInstance(error)) return error;
  const code = systemCode(error);
  const reason = (code === undefined ? undefined : REASONS[code]) ?? describeError(error);
  return new HoldfastError("state-write-failed", `cannot write ${path}: ${reason}`, {
    facts: { path, reason: code ?? reason },
    cause: error,
  });
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EDQUOT: "the disk quota is used up",
  EEXIST: "a file is in the way",
  EFBIG: "the file would be too large",
  EIO: "the disk reported an error",
  EISDIR: "it is a directory",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "its directory does not exist",
  ENOSPC: "no space is left on the disk",
  ENOTDIR: "a part of the path is not a directory",
  EPERM: "the operation is not permitted",
  EROFS: "the file system is read-only",
};

async function fill(handle: FileHandle, data: string | Uint8Array, { mode, owner }: WriteFileOptions): Promise<void> {
  if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
  await handle.chmod(mode);
  await handle.writeFile(data);
  // Without it, a power cut after the rename could leave an empty file under the final name.
  await handle.sync();
}

/** Makes the rename itself survive a power cut. Some file systems cannot sync a directory; the file is complete all the same. */
async function syncDirectory(path: string): Promise<void> {
  let handle: FileHandle;
  try {
    handle = await open(path, "r");
  } catch {
    // EACCES: a directory that may be written but not read.
    return;
  }
  try {
    await handle.sync();
  } catch {
    // EINVAL: no such thing as syncing a directory here.
  } finally {
    await handle.close();
  }
}
