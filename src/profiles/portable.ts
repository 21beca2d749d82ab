/** @module What of a profile may go elsewhere, with a clone or an archive. Everything that is not named here stays: secrets, sandboxes, history. */
import { lstat, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HoldfastError, systemCode, wrapError } from "../base/errors.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { readRegularFile } from "../base/regular-file.ts";
import { DESCRIPTION_FILE } from "./description.ts";

export const CONFIG_FILE = "config.yaml";
/** The names of the secrets that the profile has, without their values. */
export const SECRET_NAMES_FILE = ".env.example";
const FILES = [CONFIG_FILE, "SOUL.md", DESCRIPTION_FILE];
const SKILLS = "skills";

export const MOST_FILES = 2_000;
export const MOST_BYTES = 32 * 1024 * 1024;

export interface PortableFile {
  /** Relative to the profile's home, with `/`. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly executable: boolean;
}

export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

export interface Portable {
  readonly files: readonly PortableFile[];
  readonly leftOut: readonly LeftOut[];
}

/** Whether a file of this name may come from an archive. */
export function isPortable(path: string): boolean {
  return FILES.includes(path) || path === SECRET_NAMES_FILE || (path.startsWith(`${SKILLS}/`) && !isPrivate(path));
}

/** @throws `state-unreadable`; `too-large` */
export async function readPortable(home: string): Promise<Portable> {
  const files = FILES.flatMap((path) => {
    // A link is followed: two profiles that share a file would change each other's settings.
    const content = readRegularFile(join(home, path), (reason, cause) => unreadable(join(home, path), reason, cause));
    return content ? [{ path, content, executable: false }] : [];
  });
  const skills = await readTree(home, SKILLS).catch((error: unknown) =>
    Promise.reject(wrapError(error, "state-unreadable", `cannot read ${join(home, SKILLS)}`)),
  );
  return { files: [...files, ...skills.files], leftOut: skills.leftOut };
}

export async function writePortable(directory: string, files: readonly PortableFile[]): Promise<void> {
  for (const { path, content, executable } of files) {
    const target = join(directory, path);
    await makeDirectory(dirname(target));
    await writeFile(target, content, { mode: executable ? 0o700 : 0o600, flag: "wx" });
  }
}

/** @throws `too-large` */
export function checkAmount({ files, bytes }: { files: number; bytes: number }): void {
  const facts = { mostFiles: MOST_FILES, mostBytes: MOST_BYTES };
  const hint = "make its skills folder smaller";
  if (files > MOST_FILES) throw new HoldfastError("too-large", `the profile has more than ${MOST_FILES} files`, { hint, facts });
  if (bytes > MOST_BYTES) throw new HoldfastError("too-large", `the profile has more than ${MOST_BYTES} bytes of files`, { hint, facts });
}

async function readTree(home: string, top: string): Promise<Portable> {
  const files: PortableFile[] = [];
  const leftOut: LeftOut[] = [];
  let bytes = 0;
  const visit = async (path: string): Promise<void> => {
    const found = await lstat(join(home, path));
    if (isPrivate(path)) leftOut.push({ path, reason: "it may hold secrets or history" });
    else if (found.isDirectory()) for (const name of (await readdir(join(home, path))).sort()) await visit(`${path}/${name}`);
    else if (!found.isFile()) leftOut.push({ path, reason: found.isSymbolicLink() ? "it is a link" : "it is not a regular file" });
    else {
      bytes += found.size;
      checkAmount({ files: files.length + 1, bytes });
      files.push({ path, content: await readFile(join(home, path)), executable: (found.mode & 0o100) !== 0 });
    }
  };
  await visit(top).catch((error: unknown) => {
    // There are no skills.
    if (systemCode(error) !== "ENOENT") throw error;
  });
  return { files, leftOut };
}

const PRIVATE_NAME = /^(?:\.env(?!\.example$).*|\.git|\.netrc|\.npmrc|id_(?:rsa|dsa|ecdsa|ed25519)|.*\.(?:pem|key|p12|pfx))$/i;

function isPrivate(path: string): boolean {
  return path.split("/").some((part) => PRIVATE_NAME.test(part));
}

function unreadable(path: string, reason: string, cause: unknown): HoldfastError {
  return new HoldfastError("state-unreadable", `cannot read ${path}: ${reason}`, { facts: { path, reason }, cause });
}
