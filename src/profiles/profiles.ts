/** @module Profiles: named homes for configuration, secrets and sandboxes (K1–K3). */
import { cp, lstat, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFailed, writeFileAtomic } from "../base/atomic-file.ts";
import { describeError, HoldfastError, systemCode, wrapError } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";
import { listDirectory } from "../base/list-directory.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { DEFAULT_PROFILE, parseProfileName } from "../base/names.ts";
import { readStateFile } from "../base/regular-file.ts";
import { suggest } from "../base/suggest.ts";

const STICKY_FILE = "active-profile";
const PROFILES_FOLDER = "profiles";
/** What a clone takes along; history, secrets and sandboxes stay with the original. */
const CLONED_FILES = ["config.yaml", "SOUL.md"];
const NEW_ENV_FILE = "# Secrets and TERMINAL_… overrides of this profile, one NAME=value per line.\n";

export interface ProfileInfo {
  readonly name: string;
  readonly home: string;
  /** Its home has been made. `default` counts as a profile even before. */
  readonly made: boolean;
}

export interface Profiles {
  /** `$HOLDFAST_HOME`: the home of `default` and what holds the others. */
  readonly root: string;
  /** Where a profile lives, whether or not it exists. */
  home(name: string): string;
  list(): Promise<ProfileInfo[]>;
  /** @throws `profile-not-found`, with the name that was probably meant. */
  find(name: string): Promise<ProfileInfo>;
  create(name: string, options?: { cloneFrom?: string | undefined }): Promise<ProfileInfo>;
  /** The choice made with `use`, or null. */
  sticky(): Promise<string | null>;
  /** Makes a profile the one that counts when nothing else is said. */
  use(name: string): Promise<ProfileInfo>;
}

export function createProfiles(root: string): Profiles {
  const folder = join(root, PROFILES_FOLDER);
  const stickyFile = join(root, STICKY_FILE);
  const home = (name: string) => (parseProfileName(name) === DEFAULT_PROFILE ? root : join(folder, parseProfileName(name)));
  const describe = async (name: string): Promise<ProfileInfo> => {
    // The root is where the user says it is, link or not; below it, a link would lead out of it.
    const made = await isDirectory(home(name), name === DEFAULT_PROFILE ? stat : lstat);
    return { name, home: home(name), made };
  };

  const list = async () => {
    const others = listDirectory(folder)
      .filter((name) => isProfileName(name) && name !== DEFAULT_PROFILE)
      .sort();
    const all = await Promise.all([DEFAULT_PROFILE, ...others].map(describe));
    return all.filter((profile) => profile.made || profile.name === DEFAULT_PROFILE);
  };
  const find = async (input: string) => {
    const name = parseProfileName(input);
    const all = await list();
    const found = all.find((profile) => profile.name === name);
    if (found) return found;
    const meant = suggest(name, new Set(all.map((profile) => profile.name)));
    throw new HoldfastError("profile-not-found", `there is no profile ${name}`, {
      hint: meant && `did you mean "${meant}"?`,
      facts: { profile: name },
    });
  };

  return {
    root,
    home,
    list,
    find,
    async create(input, { cloneFrom } = {}) {
      const name = parseProfileName(input);
      const source = cloneFrom === undefined ? undefined : await find(cloneFrom);
      if (name === DEFAULT_PROFILE || (await describe(name)).made) throw exists(name);
      const staging = join(folder, `.new-${randomId(6)}`);
      try {
        await makeDirectory(staging);
        for (const file of source ? CLONED_FILES : []) await copyIfThere(join(source?.home ?? "", file), join(staging, file));
        await writeFile(join(staging, ".env"), NEW_ENV_FILE, { mode: 0o600 });
        await rename(staging, home(name));
      } catch (error) {
        await rm(staging, { recursive: true, force: true });
        // Somebody else made it between our look and the rename.
        if (["ENOTEMPTY", "EEXIST"].includes(systemCode(error) ?? "")) throw exists(name);
        throw wrapError(error, "state-write-failed", `cannot make profile ${name}`, { facts: { profile: name, home: home(name) } });
      }
      return describe(name);
    },
    async sticky() {
      return readStateFile(stickyFile)?.trim() || null;
    },
    async use(input) {
      const profile = await find(input);
      await makeDirectory(root).catch((error: unknown) => {
        throw writeFailed(root, error);
      });
      await writeFileAtomic(stickyFile, `${profile.name}\n`, { mode: 0o600 });
      return profile;
    },
  };
}

function exists(name: string): HoldfastError {
  return new HoldfastError("profile-exists", `there is already a profile ${name}`, { facts: { profile: name } });
}

function isProfileName(name: string): boolean {
  try {
    return parseProfileName(name) === name;
  } catch {
    // A folder with another kind of name is not ours.
    return false;
  }
}

async function isDirectory(path: string, look: typeof stat): Promise<boolean> {
  try {
    return (await look(path)).isDirectory();
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "")) return false;
    throw new HoldfastError("state-unreadable", `cannot look at ${path}: ${describeError(error)}`, { facts: { path }, cause: error });
  }
}

async function copyIfThere(from: string, to: string): Promise<void> {
  // A link is followed: two profiles that share a file would change each other's settings.
  await cp(from, to, { dereference: true }).catch((error: unknown) => {
    if (systemCode(error) !== "ENOENT") throw error;
  });
}
