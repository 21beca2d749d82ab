/** @module The directory of a container's sandbox on the host: what it shares with it, and what is known about it. */
import { chmod, mkdir, rename, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { listDirectory } from "../../../base/list-directory.ts";
import { makeDirectory } from "../../../base/make-directory.ts";
import type { Owner } from "../../driver.ts";
import { makeSecret } from "../shared/daemon-socket.ts";
import { sandboxDirectory } from "../shared/refs.ts";
import { RECORD_FILE } from "../shared/sandbox-record.ts";
import type { RemoveTree } from "./remove-as-root.ts";

/** Beside the sandboxes: the copies of holdfastd that they have mounted. */
export const BIN = "bin";
/** Files that are only there while a container is made. */
export const OF_MAKERS = /^(?:cid-|env-|sandbox\.json\.)/;
/** Until the container's user is seen, who may be any; the directory around it is open to nobody else. */
export const OPEN_TO_ALL = 0o777;
export const WORKSPACE_MODE = 0o755;
export const HOME_MODE = 0o700;
/** Directories that are only there while they are removed. */
export const OF_REMOVERS = /^gone-/;

export interface Place {
  readonly directory: string;
  readonly workspace: string;
  readonly home: string;
}

export function placeOf(root: string, owner: Owner): Place {
  return placeAt(sandboxDirectory(root, owner));
}

export function placeAt(directory: string): Place {
  return { directory, workspace: join(directory, "workspace"), home: join(directory, "home") };
}

/**
 * What one container shares with its daemon: socket, secret, state. An owner may have several containers at once, and what one left behind
 * when it was removed from outside is nothing for the next.
 */
export function runOf({ directory }: Place, { createdAt }: { createdAt: number }): string {
  return join(directory, "run", String(createdAt));
}

/** Returns the time of creation, which no other container of the owner has. */
export async function makePlace(place: Place, { keepFiles, now }: { keepFiles: boolean; now: number }): Promise<number> {
  const createdAt = await claimRun(place, now);
  const run = runOf(place, { createdAt });
  await chmod(run, OPEN_TO_ALL);
  await makeSecret(run, { mode: 0o644 });
  for (const path of keepFiles ? [place.workspace, place.home] : []) {
    await makeDirectory(path);
    await chmod(path, OPEN_TO_ALL).catch((error: unknown) => {
      // It was given to the user of an earlier container.
      if (systemCode(error) !== "EPERM") throw error;
    });
  }
  return createdAt;
}

async function claimRun(place: Place, now: number): Promise<number> {
  for (let createdAt = now; ; createdAt++) {
    await makeDirectory(join(place.directory, "run"));
    try {
      await mkdir(runOf(place, { createdAt }));
      return createdAt;
    } catch (error) {
      // ENOENT: whoever failed to make a container at this moment has taken the empty directories away.
      if (systemCode(error) !== "EEXIST" && systemCode(error) !== "ENOENT") throw error;
    }
  }
}

export async function removeRun(place: Place, of: { createdAt: number }, remove: RemoveTree): Promise<void> {
  await remove(runOf(place, of));
}

/** With `files`, also what is in the workspace and the home, and whatever makers have left. */
export async function removePlace({ directory, workspace, home }: Place, { files, remove }: RemovePlaceOptions): Promise<void> {
  await remove(join(directory, RECORD_FILE));
  const aside: (string | null)[] = [];
  // All of them before the first is emptied, which takes its time.
  for (const path of files ? [join(directory, "run"), home, workspace] : []) aside.push(await moveAside(path));
  for (const path of aside) if (path !== null) await remove(path);
  if (!(await removeEmpty(join(directory, "run")))) return;
  // Whoever makes a container has a directory there, so these are of makers that were killed.
  for (const name of listDirectory(directory)) if (OF_MAKERS.test(name) || OF_REMOVERS.test(name)) await remove(join(directory, name));
  await removeEmpty(directory);
}

/** Of the workspace or the home, so that whoever makes a container while this takes its time has one of its own. */
export async function removeKept(path: string, remove: RemoveTree): Promise<void> {
  const aside = await moveAside(path);
  if (aside !== null) await remove(aside);
}

/** Null when it is not there. */
async function moveAside(path: string): Promise<string | null> {
  const aside = join(dirname(path), `gone-${randomId(8)}`);
  try {
    await rename(path, aside);
    return aside;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

export interface RemovePlaceOptions {
  readonly files: boolean;
  readonly remove: RemoveTree;
}

/** The directories of containers other than these, in the making ones included. */
export function otherRuns({ directory }: Place, but: readonly { createdAt: number }[]): number[] {
  const all = listDirectory(join(directory, "run")).map(Number);
  return all.filter((createdAt) => but.every((ref) => ref.createdAt !== createdAt));
}

/** What was made for a container that then was not, unless another one uses it or something is kept there. */
export async function removeUnused({ directory, workspace, home }: Place): Promise<void> {
  if (!(await removeEmpty(join(directory, "run")))) return;
  for (const path of [workspace, home, directory]) await removeEmpty(path);
}

async function removeEmpty(path: string): Promise<boolean> {
  try {
    await rmdir(path);
  } catch (error) {
    // Another container of the owner, or its files.
    if (systemCode(error) === "ENOTEMPTY" || systemCode(error) === "EEXIST") return false;
    if (systemCode(error) !== "ENOENT") throw error;
  }
  return true;
}
