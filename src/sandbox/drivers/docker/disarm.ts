/** @module Set-user-id bits that a container has left in a directory of the host: its root is that of the host, and so would be whoever runs such a file. */
import { dropSetIds } from "../../../base/drop-set-ids.ts";
import { isDenied } from "../../../base/remove-tree.ts";
import { type AsRootOptions, asRoot } from "./as-root.ts";

// In the words of POSIX: the image may have any `find`.
const DROP = "find . -xdev -type f \\( -perm -4000 -o -perm -2000 \\) -exec chmod ug-s {} +";

/** First as ourselves; what that is not allowed to, a container that sees nothing but this directory is. */
export async function disarm(path: string, options: AsRootOptions): Promise<void> {
  try {
    await dropSetIds(path);
  } catch (error) {
    if (!isDenied(error)) throw error;
    await asRoot(options, {
      directory: path,
      script: DROP,
      denied: error,
      hint: `as root, run \`find ${path} -type f -perm /6000 -exec chmod ug-s {} +\``,
    });
  }
}
