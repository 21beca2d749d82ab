/** @module The audit log: a line of JSON in the profile's `audit.log` for each sandbox that was stopped or removed (S31). */
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, readSync, renameSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import type { Audit, AuditEntry } from "../base/audit.ts";
import type { Clock } from "../base/clock.ts";
import { describeError, systemCode } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { withoutPasswords } from "../base/without-password.ts";

const LARGEST = 4 * 1024 * 1024;

/** An entry as it is kept. */
export interface AuditRecord extends AuditEntry {
  /** ISO 8601. */
  readonly time: string;
  readonly by: { readonly program: string; readonly pid: number; readonly host: string };
}

export interface AuditLogOptions {
  readonly path: string;
  /** What this process is, for people: `holdfast sandbox rm`. */
  readonly program: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A log that cannot be written keeps no sandbox from ending, but is told. */
export function createAuditLog({ path, program, clock, log }: AuditLogOptions): Audit {
  return (entry) => {
    const by = { program, pid: process.pid, host: hostname() };
    const record: AuditRecord = { time: new Date(clock.now()).toISOString(), ...withoutPasswords(entry), by };
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      // A pipe would be waited for without end.
      if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw new Error("it is not a regular file");
      makeRoom(path);
      // In one piece and at its end, whoever else writes.
      appendFileSync(path, `${isCutShort(path) ? "\n" : ""}${JSON.stringify(record)}\n`, { mode: 0o600 });
    } catch (error) {
      log.warn(`the audit log ${path} cannot be written: ${describeError(error)}`, { path, ...entry });
    }
  };
}

/** Oldest first. Lines that are none, such as one that a full disk cut short, are left out. */
export function readAuditLog(path: string): AuditRecord[] {
  return [`${path}.1`, path].flatMap((file) =>
    textOf(file)
      .split("\n")
      .flatMap((line) => {
        try {
          return [JSON.parse(line) as AuditRecord];
        } catch {
          // SyntaxError: the end of the file, or a line that was not finished.
          return [];
        }
      }),
  );
}

/** The one before is kept, too. */
function makeRoom(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < LARGEST) return;
  try {
    renameSync(path, `${path}.1`);
  } catch (error) {
    // Another process has just done it.
    if (systemCode(error) !== "ENOENT") throw error;
  }
}

/** A line that a full disk cut short must not take the next one with it. */
function isCutShort(path: string): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return false;
  const file = openSync(path, "r");
  try {
    const last = Buffer.alloc(1);
    readSync(file, last, 0, 1, size - 1);
    return last[0] !== 0x0a;
  } finally {
    closeSync(file);
  }
}

function textOf(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return "";
  return readFileSync(path, "utf8");
}
