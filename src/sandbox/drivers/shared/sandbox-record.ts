/** @module The label of a sandbox: the file `sandbox.json` in its directory. */
import { readFileSync, statSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { describeError, HoldfastError, systemCode } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import type { SandboxRef } from "../../driver.ts";

export const RECORD_FILE = "sandbox.json";

const Record = z.strictObject({
  version: z.literal(1),
  id: z.string(),
  install: z.string(),
  profile: z.string(),
  task: z.string(),
  fingerprint: z.string(),
  createdAt: z.number(),
  settings: z.optional(z.record(z.string(), z.string())),
  /** Where the backend has several places that do not know of each other: in which of them it is. */
  engine: z.optional(z.string()),
});
export type SandboxRecord = z.infer<typeof Record>;

/**
 * Null when the directory holds none. Every call begins with this small file, and a trip through node's thread pool takes ten times as long.
 * @throws `state-unreadable` when what it holds is none
 */
export function readRecord(directory: string): SandboxRecord | null {
  const path = join(directory, RECORD_FILE);
  const unreadable = (message: string, cause?: unknown) =>
    new HoldfastError("state-unreadable", message, {
      hint: `remove the directory ${directory}, or restore the file`,
      facts: { path, directory },
      cause,
    });
  let text: string;
  try {
    // Reading a named pipe would wait for a writer.
    if (!statSync(path).isFile()) throw unreadable(`${path} is not a sandbox record, not even a regular file`);
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw HoldfastError.isInstance(error) ? error : unreadable(`cannot read ${path}: ${describeError(error)}`, error);
  }
  try {
    return z.parse(Record, JSON.parse(text));
  } catch (error) {
    throw unreadable(`${path} is not a sandbox record`, error);
  }
}

/** `engine`: in which of several places it is. */
export function recordFrom({ id, owner, fingerprint, createdAt, settings }: SandboxRef, engine: string): SandboxRecord {
  return { version: 1, id, ...owner, fingerprint, createdAt, settings, engine };
}

/** At once for those who read it, who may be other processes. */
export async function writeRecord(directory: string, record: SandboxRecord): Promise<void> {
  const path = join(directory, RECORD_FILE);
  const aside = `${path}.${randomId(4)}`;
  await writeFile(aside, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  await rename(aside, path);
}
