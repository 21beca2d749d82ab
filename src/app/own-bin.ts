/** @module A directory that holds `holdfast` and nothing else, for the path of workers. */
import { join } from "node:path";
import { writeFileAtomic } from "../base/atomic-file.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { quoteArgv } from "../sandbox/quote.ts";
import { ownProgram } from "./own-program.ts";

export async function ensureOwnBin(kanbanRoot: string): Promise<string> {
  const directory = join(kanbanRoot, "bin");
  await makeDirectory(directory);
  const line = quoteArgv(ownProgram());
  await writeFileAtomic(join(directory, "holdfast"), `#!/bin/sh\nexec ${line} "$@"\n`, { mode: 0o755 });
  return directory;
}
