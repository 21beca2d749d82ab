/** @module The directories of the host that a container is to see, made where they are missing. */
import { existsSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { describeError, HoldfastError } from "../../../base/errors.ts";
import type { Logger } from "../../../base/log.ts";
import { makeDirectory } from "../../../base/make-directory.ts";
import type { Mount } from "../../spec.ts";

/** As an engine makes them for `-v`. */
const MODE = 0o755;

/**
 * An engine would make them owned by root, and say nothing: a mistyped path would pass for an empty directory (S8).
 * @throws `sandbox-create-failed`
 */
export async function makeSources(mounts: readonly Mount[], log: Logger): Promise<void> {
  for (const { source, target } of mounts) {
    if (!source.startsWith("/") || existsSync(source)) continue;
    try {
      await makeDirectory(source);
      await chmod(source, MODE);
    } catch (error) {
      throw new HoldfastError(
        "sandbox-create-failed",
        `${source}, which belongs at ${target}, is not there and cannot be made: ${describeError(error)}`,
        {
          hint: "correct terminal.docker_volumes, or make the directory",
          facts: { source, target },
          cause: error,
        },
      );
    }
    log.warn(`${source} was not there, so it was made, for ${target} in the sandbox`, { source, target });
  }
}
