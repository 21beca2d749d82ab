/** @module A lock between processes that cannot go stale: the kernel releases it when its holder ends, however it ends. */
import { closeSync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { writeFailed } from "./atomic-file.ts";
import { type Clock, delay } from "./clock.ts";
import { describeError, HoldfastError, systemCode } from "./errors.ts";

export interface FileLockOptions {
  readonly clock: Clock;
  /** How long to wait for another holder. */
  readonly timeoutMs?: number;
}

const WAIT_MS = 10_000;
const RETRY_MS = 15;
const SQLITE_BUSY = 5;

/**
 * Runs `action` while no other holder of the lock on `path` runs, in this process or another. `path` itself is not touched:
 * the lock is an exclusive transaction on the empty SQLite database `<path>.lock`, which stays (removing it would let two in).
 * @throws `locked` when another holder did not end in time, `state-write-failed` when there can be no lock file.
 */
export async function withFileLock<T>(path: string, action: () => Promise<T>, options: FileLockOptions): Promise<T> {
  const lockPath = `${path}.lock`;
  const database = await openLock(lockPath);
  try {
    await acquire(database, path, options);
    return await action();
  } finally {
    database.close();
  }
}

async function openLock(lockPath: string): Promise<DatabaseSync> {
  createPrivate(lockPath);
  const { DatabaseSync } = await import("node:sqlite");
  try {
    return new DatabaseSync(lockPath, { timeout: 0 });
  } catch (error) {
    throw writeFailed(lockPath, error);
  }
}

/**
 * SQLite would make the file readable for everyone. Closing any descriptor of a file drops all locks that the process holds on it:
 * so an existing file must not be opened here, and nobody may lock a new one before it is closed.
 */
function createPrivate(lockPath: string): void {
  try {
    closeSync(openSync(lockPath, "wx", 0o600));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw writeFailed(lockPath, error);
  }
}

async function acquire(database: DatabaseSync, path: string, { clock, timeoutMs = WAIT_MS }: FileLockOptions): Promise<void> {
  const deadline = clock.monotonic() + timeoutMs;
  while (!tryLock(database, path)) {
    if (clock.monotonic() >= deadline) {
      throw new HoldfastError("locked", `another process has held the lock on ${path} for ${timeoutMs / 1000} s`, {
        facts: { path, timeoutMs },
      });
    }
    // Uneven waits, so that many waiters do not keep meeting at the same moment.
    await delay(clock, RETRY_MS * (0.5 + Math.random()));
  }
}

function tryLock(database: DatabaseSync, path: string): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw new HoldfastError("state-write-failed", `cannot lock ${path}: ${describeError(error)}`, { facts: { path }, cause: error });
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}
