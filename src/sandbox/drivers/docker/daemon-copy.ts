/** @module The holdfastd that containers have mounted: a copy of our own, because a container cannot be started again when its file has moved. */
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { writeFileAtomic } from "../../../base/atomic-file.ts";
import { digest } from "../../../base/ids.ts";
import { makeDirectory } from "../../../base/make-directory.ts";

const MODE = 0o755;

/** Where it is; the same content has one copy, and those of earlier versions stay for the containers that have them. */
export async function copyDaemon(program: string, directory: string): Promise<string> {
  const content = readFileSync(program);
  const path = join(directory, `holdfastd-${digest(content.toString("latin1"), 16)}`);
  if (!existsSync(path)) {
    await makeDirectory(directory);
    await writeFileAtomic(path, content, { mode: MODE });
  }
  return path;
}

/**
 * What a container has mounted cannot be changed, but the file behind it can: one that starts again does so with the holdfastd of this
 * version. Those that run keep the file that they have.
 */
export async function renewDaemon(
  program: string,
  { sources, directory }: { sources: readonly string[]; directory: string },
): Promise<void> {
  // By the name alone: an engine may say by another way where they are.
  const paths = sources.map((source) => join(directory, basename(source))).filter((path) => existsSync(path));
  const content = readFileSync(program);
  for (const path of paths) if (!content.equals(readFileSync(path))) await writeFileAtomic(path, content, { mode: MODE });
}
