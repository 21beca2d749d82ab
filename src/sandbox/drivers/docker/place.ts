/** @module The directory of a container's sandbox on the host: what it shares with it, and what is known about it. */
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "../../../base/make-directory.ts";
import { taskSegment } from "../../../base/names.ts";
import type { Owner } from "../../driver.ts";
import { makeSecret } from "../shared/daemon-socket.ts";

export interface Place {
  readonly directory: string;
  /** Shared with the daemon: socket, secret, state. */
  readonly run: string;
  readonly workspace: string;
  readonly home: string;
}

/** Profiles and installs may be configured to share one root, so the task alone does not name a sandbox. */
export function placeOf(root: string, { install, profile, task }: Owner): Place {
  const directory = join(root, ...[install, profile, task].map(taskSegment));
  return { directory, run: join(directory, "run"), workspace: join(directory, "workspace"), home: join(directory, "home") };
}

/**
 * The user in the container may be any, so what is shared is open to all; the directory around it is not, and whoever comes through has to
 * know the secret.
 */
export async function makePlace({ run, workspace, home }: Place, { keepFiles }: { keepFiles: boolean }): Promise<void> {
  await makeDirectory(run);
  await chmod(run, 0o777);
  await makeSecret(run, { mode: 0o644 });
  for (const path of keepFiles ? [workspace, home] : []) {
    await makeDirectory(path);
    await chmod(path, 0o777);
  }
}

/** With `files`, also what is in the workspace and the home. */
export async function removePlace({ directory, run }: Place, { files }: { files: boolean }): Promise<void> {
  for (const path of files ? [directory] : [run, join(directory, "sandbox.json")]) await rm(path, { recursive: true, force: true });
}
