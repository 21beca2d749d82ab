/** @module Profiles: named homes for configuration, secrets and sandboxes (K1–K3). */
import { lstat, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFailed, writeFileAtomic } from "../base/atomic-file.ts";
import { describeError, HoldfastError, systemCode, wrapError } from "../base/errors.ts";
import { listDirectory } from "../base/list-directory.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { DEFAULT_PROFILE, parseProfileName } from "../base/names.ts";
import { readStateFile } from "../base/regular-file.ts";
import { removeTree } from "../base/remove-tree.ts";
import { suggest } from "../base/suggest.ts";
import { type PortableFile, writePortable } from "./portable.ts";
import { stagingPath, sweepStaging } from "./staging.ts";

const STICKY_FILE = "active-profile";
const PROFILES_FOLDER = "profiles";
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
  /** `files` are what it begins with, besides a `.env` without secrets. @throws `profile-exists`, `state-write-failed` */
  create(name: string, options?: { files?: readonly PortableFile[] }): Promise<ProfileInfo>;
  /** Whether the profile may get another name, and the new one is free. Sandboxes are the caller's business. */
  checkRename(from: string, to: string): Promise<{ readonly from: ProfileInfo; readonly to: string }>;
  /** Gives a profile another name. `sticky`: it is the choice of `use`, which follows. */
  rename(from: string, to: string): Promise<{ readonly profile: ProfileInfo; readonly sticky: boolean }>;
  /** The profile, if it may be deleted. */
  checkRemove(name: string): Promise<ProfileInfo>;
  /** Removes a profile's home with all that is in it. `sticky`: it was the choice of `use`, which is forgotten. */
  remove(name: string): Promise<{ readonly sticky: boolean }>;
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
    if (await isLink(home(name)))
      throw new HoldfastError("profile-not-found", `${home(name)} is a link, which is no profile`, {
        hint: "profiles are directories; remove the link, or put the directory itself there",
        facts: { profile: name, home: home(name) },
      });
    const meant = suggest(name, new Set(all.map((profile) => profile.name)));
    throw new HoldfastError("profile-not-found", `there is no profile ${name}`, {
      hint: meant && `did you mean "${meant}"?`,
      facts: { profile: name },
    });
  };
  const sticky = () => readStateFile(stickyFile)?.trim() || null;
  const isSticky = (name: string) => sticky()?.toLowerCase() === name;
  const stick = async (name: string) => {
    await makeDirectory(root).catch((error: unknown) => Promise.reject(writeFailed(root, error)));
    await writeFileAtomic(stickyFile, `${name}\n`, { mode: 0o600 });
  };
  const checkRename: Profiles["checkRename"] = async (fromInput, toInput) => {
    const [from, to] = [parseProfileName(fromInput), parseProfileName(toInput)];
    if (from === DEFAULT_PROFILE) throw protectedProfile("renamed");
    const profile = await find(from);
    if (to === DEFAULT_PROFILE || (await describe(to)).made || (await isLink(home(to)))) throw exists(to);
    return { from: profile, to };
  };
  const checkRemove: Profiles["checkRemove"] = async (input) => {
    if (parseProfileName(input) === DEFAULT_PROFILE) throw protectedProfile("deleted");
    return find(input);
  };

  return {
    root,
    home,
    list,
    find,
    async create(input, { files = [] } = {}) {
      const name = parseProfileName(input);
      if (name === DEFAULT_PROFILE || (await describe(name)).made) throw exists(name);
      const staging = stagingPath(folder, "new");
      try {
        await makeDirectory(staging);
        await sweepStaging(folder);
        await writePortable(staging, files);
        await writeFile(join(staging, ".env"), NEW_ENV_FILE, { mode: 0o600 });
        await rename(staging, home(name)).catch((error: unknown) => Promise.reject(isTaken(error) ? exists(name) : error));
      } catch (error) {
        await rm(staging, { recursive: true, force: true });
        throw wrapError(error, "state-write-failed", `cannot make profile ${name}`, { facts: { profile: name, home: home(name) } });
      }
      return describe(name);
    },
    checkRename,
    async rename(fromInput, toInput) {
      const { from, to } = await checkRename(fromInput, toInput);
      const chosen = isSticky(from.name);
      await rename(from.home, home(to)).catch((error: unknown) => {
        if (isTaken(error)) throw exists(to);
        throw wrapError(error, "state-write-failed", `cannot rename profile ${from.name} to ${to}`, {
          facts: { from: from.home, to: home(to) },
        });
      });
      if (chosen) await stick(to);
      return { profile: await describe(to), sticky: chosen };
    },
    checkRemove,
    async remove(input) {
      const { name, home: doomed } = await checkRemove(input);
      const chosen = isSticky(name);
      await sweepStaging(folder);
      const staging = stagingPath(folder, "gone");
      // Out of sight as one step: whatever happens from here on, no half of it is a profile.
      await rename(doomed, staging).catch((error: unknown) => {
        throw wrapError(error, "state-write-failed", `cannot remove profile ${name}`, { facts: { profile: name, home: doomed } });
      });
      if (chosen) await rm(stickyFile, { force: true });
      await removeTree(staging);
      return { sticky: chosen };
    },
    sticky: async () => sticky(),
    async use(input) {
      const profile = await find(input);
      await stick(profile.name);
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

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "")) return false;
    throw new HoldfastError("state-unreadable", `cannot look at ${path}: ${describeError(error)}`, { facts: { path }, cause: error });
  }
}

/** Somebody else made it between our look and the rename. */
function isTaken(error: unknown): boolean {
  return ["ENOTEMPTY", "EEXIST"].includes(systemCode(error) ?? "");
}

function protectedProfile(verb: "renamed" | "deleted"): HoldfastError {
  return new HoldfastError("invalid-input", `profile ${DEFAULT_PROFILE} cannot be ${verb}: it is the home of all the others`, {
    hint: "`holdfast sandbox rm` removes its sandboxes, and `holdfast config edit` changes its settings",
    facts: { profile: DEFAULT_PROFILE },
  });
}
