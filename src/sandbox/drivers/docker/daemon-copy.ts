/** @module The holdfastd that containers have mounted: a copy of our own, because a container cannot be started again when its file has moved. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../../base/atomic-file.ts";
import { digest } from "../../../base/ids.ts";
import { makeDirectory } from "../../../base/make-directory.ts";

/** Where it is; the same content has one copy, and those of earlier versions stay for the containers that have them. */
export async function copyDaemon(program: string, directory: string): Promise<string> {
  const content = readFileSync(program);
  const path = join(directory, `holdfastd-${digest(content.toString("latin1"), 16)}`);
  if (!existsSync(path)) {
    await makeDirectory(directory);
    await writeFileAtomic(path, content, { mode: 0o755 });
  }
  return path;
}
