/** @module Emits the declarations of the library, only those a consumer can reach from its entry. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { findImports, type Import } from "./source-text.ts";

export async function buildTypes({ root, outDir }: { root: string; outDir: string }): Promise<void> {
  await mkdir(dirname(outDir), { recursive: true });
  const scratch = await mkdtemp(join(dirname(outDir), ".types-"));
  try {
    const emitted = join(scratch, "emitted");
    await compile(root, emitted);
    const declarations = await reachable(emitted, "index.d.ts");
    const finished = join(scratch, "finished");
    for (const [path, text] of declarations) {
      await mkdir(dirname(join(finished, path)), { recursive: true });
      await writeFile(join(finished, path), text);
    }
    await rm(outDir, { recursive: true, force: true });
    await rename(finished, outDir);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function compile(root: string, outDir: string): Promise<void> {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  try {
    await promisify(execFile)(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json"), "--outDir", outDir]);
  } catch (error) {
    throw new Error(`tsc could not emit the declarations:\n${(error as { stdout: string }).stdout}`, { cause: error });
  }
}

/** The entry and all it imports, with `.ts` endings turned into the `.js` that every module resolution understands. */
async function reachable(directory: string, entry: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const queue = [entry];
  while (queue.length > 0) {
    const path = queue.pop() ?? entry;
    if (found.has(path)) continue;
    const text = await readFile(join(directory, path), "utf8");
    const imports = findImports(text);
    const relatives = imports.filter(({ specifier }) => specifier.startsWith("."));
    queue.push(...relatives.map(({ specifier }) => join(dirname(path), specifier.replace(/\.ts$/, ".d.ts"))));
    found.set(path, withJsEndings(text, imports));
  }
  return found;
}

function withJsEndings(text: string, imports: readonly Import[]): string {
  // From the last to the first, so that the places of those still to come stay right.
  return imports.toReversed().reduce((result, { specifier, start }) => {
    const end = start + specifier.length;
    return result.slice(0, start) + specifier.replace(/\.ts$/, ".js") + result.slice(end);
  }, text);
}
