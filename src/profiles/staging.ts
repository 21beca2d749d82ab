/** @module What is made or taken apart aside, such as homes that are not profiles yet or no longer: nobody ever sees half of it. */
import { join } from "node:path";
import { HoldfastError, systemCode } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";
import { listDirectory } from "../base/list-directory.ts";
import { removeTree } from "../base/remove-tree.ts";

const STAGING = /^\.(?<kind>new|gone|archive)-(?<pid>\d{1,10})-[0-9a-f]{12}$/;

/** A path in the folder. The process that uses it is in its name. */
export function stagingPath(folder: string, kind: "new" | "gone" | "archive"): string {
  return join(folder, `.${kind}-${process.pid}-${randomId(6)}`);
}

/** Removes what processes have left that ended in the middle of their work, as far as it can be removed: it is in nobody's way. */
export async function sweepStaging(folder: string): Promise<void> {
  for (const name of listDirectory(folder)) {
    const { pid } = STAGING.exec(name)?.groups ?? {};
    if (pid === undefined || isAlive(Number(pid))) continue;
    await removeTree(join(folder, name)).catch((error: unknown) => {
      // EACCES: another user's. Whoever may, clears it away later.
      if (!HoldfastError.isInstance(error)) throw error;
    });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, and is somebody else's.
    return systemCode(error) !== "ESRCH";
  }
}
