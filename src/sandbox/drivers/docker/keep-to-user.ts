/**
 * @module Who may come to what a container shares with the host. How its user looks from the host is not known before it runs, so the
 * directories are made open to all behind the host's own doors, and closed as soon as its first file shows who it is, whatever namespaces
 * are in between.
 */
import { constants, lstatSync, type Stats } from "node:fs";
import { chmod, lchown, open } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../../../base/errors.ts";
import { SECRET_FILE } from "../shared/daemon-socket.ts";
import { STATE } from "./connect.ts";
import type { UserIds } from "./container-user.ts";
import { HOME_MODE, OPEN_TO_ALL, type Place, runOf, WORKSPACE_MODE } from "./place.ts";

/** Where neither the host's user nor the container's can have it alone: nobody takes the place of what is another's. */
const OPEN_BUT_KEPT = 0o1777;
const ROOT = 0;

/** Costs a look or two when it is done already; containers that an earlier version has made are closed, too. */
export async function keepToUser(place: Place, of: { readonly createdAt: number }): Promise<void> {
  const runDir = runOf(place, of);
  const user = look(join(runDir, STATE));
  if (user === null) return;
  await closeDirectory(runDir, user, { mode: 0o700, inside: [SECRET_FILE], otherwise: OPEN_BUT_KEPT });
  await closeDirectory(place.workspace, user, { mode: WORKSPACE_MODE });
  await closeDirectory(place.home, user, { mode: HOME_MODE });
}

interface CloseOptions {
  readonly mode: number;
  /** Files in it that go with it. */
  readonly inside?: readonly string[];
  /** Its mode when it cannot be the user's alone. */
  readonly otherwise?: number;
}

async function closeDirectory(path: string, user: UserIds, { mode, inside = [], otherwise }: CloseOptions): Promise<void> {
  const facts = look(path);
  const isOurs = process.getuid?.() === ROOT || facts?.uid === process.getuid?.();
  if (!facts?.isDirectory() || !isOurs) return;
  // Root in a container gets past what a directory says, and so does the root of the host.
  const reached = user.uid === facts.uid || user.uid === ROOT;
  const isOpen = (facts.mode & 0o7777) === OPEN_TO_ALL;
  if (reached && !isOpen) return;
  if (!reached && facts.uid !== ROOT) {
    if (isOpen && otherwise !== undefined) await chmod(path, otherwise);
    return;
  }
  for (const name of inside) await giveFile(join(path, name), reached ? null : user);
  if (!reached) await lchown(path, user.uid, user.gid);
  await chmod(path, mode);
}

/** Not through a link: whoever is in the container may have put one there. */
async function giveFile(path: string, user: UserIds | null): Promise<void> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (["ENOENT", "ELOOP", "ENXIO"].includes(systemCode(error) ?? "")) return;
    throw error;
  }
  try {
    if (!(await file.stat()).isFile()) return;
    if (user) await file.chown(user.uid, user.gid);
    await file.chmod(0o600);
  } finally {
    await file.close();
  }
}

function look(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    // EACCES: only the user of the container may look, so it is closed.
    if (systemCode(error) === "ENOENT" || systemCode(error) === "EACCES") return null;
    throw error;
  }
}
