/** @module Files that users of sandboxes have made in workspaces on the host, where the user of this process has no rights over them. */
import { describeError, HoldfastError } from "../base/errors.ts";
import type { App } from "./create-app.ts";

/**
 * Whoever may have made them can remove them, whatever profile that was: the configuration may be another one since, and of a task that is
 * gone nobody knows any more.
 * @returns what rejects with `state-write-failed` when nobody could
 */
export function removeForeign(app: App): (path: string, task: string) => Promise<void> {
  return async (path, task) => {
    const troubles: string[] = [];
    for (const { name } of await app.profiles.list()) {
      try {
        const own = await app.forProfile(name);
        const driver = await (await own.forTask(task)).driver();
        if (driver.removeDirectory === undefined) continue;
        return await driver.removeDirectory(path);
      } catch (error) {
        troubles.push(`${name}: ${describeError(error)}`);
      }
    }
    const tried =
      troubles.length === 0 ? "and no profile has a backend whose users could" : `and it could not be done for ${troubles.join("; ")}`;
    throw new HoldfastError("state-write-failed", `${path} belongs to another user in part, ${tried}`, {
      hint: `remove ${path} as root`,
      facts: { path },
    });
  };
}
