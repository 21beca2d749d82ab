/** @module Making a directory with its parents. */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { systemCode } from "./errors.ts";

/**
 * Private (0700), as are the parents it makes; present is success. Node's own recursive mkdir never ends below a directory that answers
 * every mkdir with "no such file", as /proc does.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makeDirectory(dirname(path));
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST" || !(await stat(path)).isDirectory()) throw error;
  }
}
