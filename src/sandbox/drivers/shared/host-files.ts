/** @module Small private files of a sandbox whose files are the host's. */
import { lstatSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { describeError, HoldfastError, systemCode } from "../../../base/errors.ts";
import { listDirectory } from "../../../base/list-directory.ts";
import type { FileAccess, FileEntry } from "../../driver.ts";

/** `inSandbox` runs what would bring back the files of a sandbox that is being removed. */
export function createHostFiles(stateDir: string, inSandbox: (work: () => Promise<void>) => Promise<void>): FileAccess {
  return {
    async read(path) {
      try {
        return await readFile(path);
      } catch (error) {
        if (systemCode(error) === "ENOENT") return null;
        throw new HoldfastError("state-unreadable", `cannot read ${path}: ${describeError(error)}`, { facts: { path }, cause: error });
      }
    },
    async write(path, bytes) {
      await inSandbox(() =>
        writing(path, async () => {
          await makeParents(stateDir, path);
          await writeFile(path, bytes, { mode: 0o600 });
        }),
      );
    },
    async list(path) {
      const entries = listDirectory(path).map((name) => describeEntry(path, name));
      return entries.filter((entry) => entry !== null);
    },
    async remove(path) {
      await writing(path, () => rm(path, { recursive: true, force: true }));
    },
  };
}

/** Step by step from the state directory on: a recursive mkdir would bring back the directory of a sandbox that was just removed. */
async function makeParents(stateDir: string, path: string): Promise<void> {
  let parent = stateDir;
  for (const segment of relative(stateDir, dirname(path)).split(sep).filter(Boolean)) {
    parent = join(parent, segment);
    await mkdir(parent, { mode: 0o700 }).catch((error: unknown) => {
      if (systemCode(error) !== "EEXIST") throw error;
    });
  }
}

async function writing(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new HoldfastError("state-write-failed", `cannot write ${path}: ${describeError(error)}`, {
      facts: { path, systemCode: systemCode(error) },
      cause: error,
    });
  }
}

/** Null when it went away between the listing and the look. */
function describeEntry(path: string, name: string): FileEntry | null {
  try {
    const facts = lstatSync(join(path, name));
    return { name, directory: facts.isDirectory(), modifiedAt: facts.mtimeMs };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}
