/** @module A new file that nobody else may read, for programs that would make it readable to all. */
import { closeSync, openSync } from "node:fs";

/** Empty, with 0600. False when it could not be made, such as when it is there: whoever uses it next says why. */
export function makePrivateFile(path: string): boolean {
  try {
    // Never opens one that is there: to close it would free the locks that this process has on it.
    closeSync(openSync(path, "wx", 0o600));
    return true;
  } catch {
    // EEXIST, or what keeps a file from being made there, which the one who wants it hears, too.
    return false;
  }
}
