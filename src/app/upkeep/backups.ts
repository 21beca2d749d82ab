/** @module Copies of the database: where somebody wants one, and beside it before a repair. */
import { chmod, copyFile, lstat, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describeError, HoldfastError, systemCode } from "../../base/errors.ts";
import { listDirectory } from "../../base/list-directory.ts";
import type { Store } from "../../board/store.ts";
import { hostFailed } from "../host-file.ts";

const MOST_KEPT = 10;
/** What SQLite keeps beside its file. */
const PARTS = ["", "-wal"];

/** @throws `file-exists`; `file-not-found`; `unsupported` on PostgreSQL */
export async function backupTo(store: Pick<Store, "backup">, path: string): Promise<void> {
  if ((await lstat(path).catch(() => null)) !== null) {
    throw new HoldfastError("file-exists", `${path} is already there`, { hint: "name another file", facts: { path } });
  }
  if (!(await stat(dirname(path)).catch(() => null))?.isDirectory()) {
    const facts = { path: dirname(path) };
    throw new HoldfastError("file-not-found", `there is no directory ${dirname(path)} to write the copy to`, {
      hint: "make it first",
      facts,
    });
  }
  await store.backup(path);
}

/** Before a repair. A store that cannot be read is copied as the bytes it is. Returns where the copy is. */
export async function backupBeside(location: string, { store, now }: { store: Store | null; now: number }): Promise<string> {
  const path = `${location}.backup-${new Date(now).toISOString().replaceAll(":", "-")}`;
  try {
    if (store === null) throw new HoldfastError("board-damaged", "the store cannot be opened");
    await store.backup(path);
  } catch {
    // board-damaged: then the bytes are all there is.
    await rm(path, { force: true });
    for (const part of PARTS) await copyPart(location + part, path + part);
    // One without content says nothing, and would only be in the way of whoever restores the copy.
    if ((await stat(`${path}-wal`).catch(() => null))?.size === 0) await rm(`${path}-wal`, { force: true });
  }
  await dropOldest(location);
  return path;
}

async function copyPart(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to);
    // A database from before may be readable to all.
    await chmod(to, 0o600);
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw hostFailed(to, error);
  }
}

async function dropOldest(location: string): Promise<void> {
  const begin = `${basename(location)}.backup-`;
  const dates = listDirectory(dirname(location)).filter(
    (name) => name.startsWith(begin) && !PARTS.slice(1).some((part) => name.endsWith(part)),
  );
  for (const name of dates.sort().slice(0, -MOST_KEPT)) {
    for (const part of PARTS) {
      const path = join(dirname(location), name + part);
      await rm(path, { force: true }).catch((error: unknown) => {
        throw new HoldfastError("state-write-failed", `cannot remove ${path}: ${describeError(error)}`, { facts: { path }, cause: error });
      });
    }
  }
}
