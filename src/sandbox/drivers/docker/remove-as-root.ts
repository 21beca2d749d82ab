/** @module Removing what the root of a container has made, which a user of the host who is not root may not. */
import { isDenied, removeTree } from "../../../base/remove-tree.ts";
import { type AsRootOptions, asRoot } from "./as-root.ts";

/** Absent is success. */
export type RemoveTree = (path: string) => Promise<void>;

/** The directory itself may be the container's user's, and whoever removes it looks into it first. */
const EMPTY = "rm -rf -- ..?* .[!.]* * && chmod 777 .";

/** First as ourselves; what that is not allowed to, a container that sees nothing but this directory is. */
export function createTreeRemover(options: AsRootOptions): RemoveTree {
  return async (path) => {
    try {
      await removeTree(path);
    } catch (error) {
      if (!isDenied(error)) throw error;
      await asRoot(options, { directory: path, script: EMPTY, denied: error, hint: `remove ${path} as root` });
      await removeTree(path);
    }
  };
}
