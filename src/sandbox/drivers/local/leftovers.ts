/** @module What a killed process left in the driver's root: half-made and half-removed sandboxes, and pipes that nobody opened. */
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { describeError, systemCode } from "../../../base/errors.ts";
import type { Logger } from "../../../base/log.ts";
import { PIPE_PREFIX } from "../shared/host-pipes.ts";

export const NEW_PREFIX = ".new-";
export const GONE_PREFIX = ".gone-";

// Nothing works on one of them for that long.
const KEEP_MS = 60 * 60 * 1000;

/** Never fails: what cannot be removed is in nobody's way. */
export async function removeLeftovers(root: string, { clock, log }: { clock: Clock; log: Logger }): Promise<void> {
  try {
    const states = (await children(await children(await children([root])))).map((directory) => join(directory, "state"));
    const candidates = [
      ...(await children([root], (name) => name.startsWith(NEW_PREFIX) || name.startsWith(GONE_PREFIX))),
      ...(await children(states, (name) => name.startsWith(PIPE_PREFIX))),
    ];
    for (const path of candidates) {
      // The time of its last change of any kind: a rename leaves the modification time of a directory as it was.
      const facts = await lstat(path).catch(ignoreMissing);
      if (facts && clock.now() - facts.ctimeMs > KEEP_MS) await rm(path, { recursive: true, force: true });
    }
  } catch (error) {
    log.debug("leftovers were not removed", { root, error: describeError(error) });
  }
}

async function children(directories: readonly string[], wanted = (name: string) => !name.startsWith(".")): Promise<string[]> {
  const found = await Promise.all(
    directories.map(async (directory) => {
      const names = await readdir(directory).catch((error: unknown) => {
        // Just removed, or a file that somebody put there.
        if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return [];
        throw error;
      });
      return names.filter(wanted).map((name) => join(directory, name));
    }),
  );
  return found.flat();
}

function ignoreMissing(error: unknown): undefined {
  // Whoever works on it has finished.
  if (systemCode(error) === "ENOENT") return undefined;
  throw error;
}
