/** @module Taking the set-user-id and set-group-id bits from files that somebody who is not trusted has made. */
import { constants, lstatSync, readdirSync } from "node:fs";
import { chmod, type FileHandle, open } from "node:fs/promises";
import { describeError, HoldfastError, systemCode } from "./errors.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Of Linux: names a file that may not be read, so that its permissions can be changed. Node does not list it. */
const O_PATH = 0o10000000;
const SET_IDS = 0o6000;
/** Each level is held open. */
const DEEPEST = 500;

/**
 * Of regular files only: for a directory such a bit means something else. Follows no link, whatever takes the place of what meanwhile.
 * What is not there, or goes while it looks, is no failure. Elsewhere than on Linux nothing is done: containers run in a machine of their
 * own there, and none of their bits arrive.
 * @returns how many files had one @throws `state-write-failed`
 */
export async function dropSetIds(path: string): Promise<number> {
  if (process.platform !== "linux") return 0;
  try {
    return await dropIn(Buffer.from(path), 1);
  } catch (error) {
    throw new HoldfastError("state-write-failed", `cannot take the set-user-id bits from the files in ${path}: ${describeError(error)}`, {
      facts: { path, systemCode: systemCode(error) },
      cause: error,
    });
  }
}

async function dropIn(path: Buffer, depth: number): Promise<number> {
  const directory = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(unlessGone);
  if (directory === null) return 0;
  try {
    if (depth > DEEPEST) throw Object.assign(new Error("its directories are too deep"), { code: "EPERM" });
    const { files, directories } = look(directory);
    let dropped = 0;
    for (const file of files) dropped += await dropFrom(file);
    for (const each of directories) dropped += await dropIn(each, depth + 1);
    return dropped;
  } finally {
    await directory.close();
  }
}

/** Not one promise for each of a hundred thousand files: nearly all of them are of no interest. */
function look({ fd }: FileHandle): { files: Buffer[]; directories: Buffer[] } {
  const here = `/proc/self/fd/${fd}`;
  const found = { files: [] as Buffer[], directories: [] as Buffer[] };
  // As bytes: a name need not be text.
  for (const entry of readdirSync(here, { encoding: "buffer", withFileTypes: true })) {
    const path = Buffer.concat([Buffer.from(`${here}/`), entry.name]);
    if (entry.isDirectory()) found.directories.push(path);
    else if (entry.isFile() && ((lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0) & SET_IDS) !== 0) found.files.push(path);
  }
  return found;
}

async function dropFrom(path: Buffer): Promise<number> {
  const file = await open(path, O_PATH | O_NOFOLLOW).catch(unlessGone);
  if (file === null) return 0;
  try {
    const stats = await file.stat();
    if (!stats.isFile() || (stats.mode & SET_IDS) === 0) return 0;
    await chmod(`/proc/self/fd/${file.fd}`, stats.mode & 0o777);
    return 1;
  } finally {
    await file.close();
  }
}

function unlessGone(error: unknown): null {
  if (["ENOENT", "ENOTDIR", "ELOOP"].includes(systemCode(error) ?? "")) return null;
  throw error;
}
