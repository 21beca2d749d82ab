/** @module The id of this installation: what keeps two of them on one backend apart. */
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError, HoldfastError, systemCode } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";

const INSTALL_FILE = "install-id";

/** Made once per `$HOLDFAST_HOME`; of two processes that make it at the same time, both get the same. */
export async function installId(root: string): Promise<string> {
  const path = join(root, INSTALL_FILE);
  const known = await readId(path);
  if (known !== null) return known;
  const temporary = `${path}.${randomId(6)}`;
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    await writeFile(temporary, `${randomId(8)}\n`, { mode: 0o600 });
    // A link fails where a rename would replace the id that somebody else has just begun to use.
    await link(temporary, path).catch((error: unknown) => {
      if (systemCode(error) !== "EEXIST") throw error;
    });
  } catch (error) {
    throw new HoldfastError("state-write-failed", `cannot write ${path}: ${describeError(error)}`, {
      facts: { path, systemCode: systemCode(error) },
      cause: error,
    });
  } finally {
    await rm(temporary, { force: true });
  }
  const made = await readId(path);
  if (made !== null) return made;
  throw new HoldfastError("state-unreadable", `${path} disappeared while it was being made`, { facts: { path } });
}

async function readId(path: string): Promise<string | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return null;
    throw new HoldfastError("state-unreadable", `cannot read ${path}: ${describeError(error)}`, { facts: { path }, cause: error });
  });
  if (text === null) return null;
  if (/^[0-9a-f]{16}$/.test(text.trim())) return text.trim();
  throw new HoldfastError("state-unreadable", `${path} does not hold an installation id`, {
    hint: "remove the file; sandboxes made before will not be found again",
    facts: { path },
  });
}
