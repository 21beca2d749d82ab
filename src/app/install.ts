/** @module The id of this installation: what keeps two of them on one backend apart. */
import { link, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError, HoldfastError, systemCode } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { readStateFile } from "../base/regular-file.ts";

const INSTALL_FILE = "install-id";
const TEMPORARY_FILE = /^install-id\.[0-9a-f]{12}$/;

/** Made once per `$HOLDFAST_HOME`; of two processes that make it at the same time, both get the same. */
export async function installId(root: string): Promise<string> {
  const path = join(root, INSTALL_FILE);
  const known = readId(path);
  if (known !== null) return known;
  const temporary = `${path}.${randomId(6)}`;
  try {
    await makeDirectory(root);
    await writeFile(temporary, `${randomId(8)}\n`, { mode: 0o600 });
    // A link fails where a rename would replace the id that somebody else has just begun to use.
    await link(temporary, path).catch((error: unknown) => {
      // ENOENT: whoever made the id has also swept our file away.
      if (!["EEXIST", "ENOENT"].includes(systemCode(error) ?? "")) throw error;
    });
    await sweep(root);
  } catch (error) {
    // It matters less than the failure being reported.
    await rm(temporary, { force: true }).catch(() => {});
    throw new HoldfastError("state-write-failed", `cannot write ${path}: ${describeError(error)}`, {
      facts: { path, systemCode: systemCode(error) },
      cause: error,
    });
  }
  const made = readId(path);
  if (made !== null) return made;
  throw new HoldfastError("state-unreadable", `${path} disappeared while it was being made`, { facts: { path } });
}

/** Our own file, and those of processes that were killed at this point. */
async function sweep(root: string): Promise<void> {
  const names = (await readdir(root)).filter((name) => TEMPORARY_FILE.test(name));
  await Promise.all(names.map((name) => rm(join(root, name), { force: true })));
}

function readId(path: string): string | null {
  const text = readStateFile(path)?.trim();
  if (text === undefined) return null;
  if (/^[0-9a-f]{16}$/.test(text)) return text;
  throw new HoldfastError("state-unreadable", `${path} does not hold an installation id`, {
    hint: "remove the file; sandboxes made before will not be found again",
    facts: { path },
  });
}
