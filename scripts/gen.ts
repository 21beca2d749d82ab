/** @module Writes every generated file, or with --check names those that are stale. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { renderBoardPage } from "./gen-board-docs.ts";
import { renderErrorReference } from "./gen-errors.ts";
import { findBackends, findOptionSets, renderBackends, renderDriverOptions, renderRegistry } from "./gen-registry.ts";

const ROOT = dirname(import.meta.dirname);

export interface Generator {
  /** Relative to the repository. */
  readonly path: string;
  readonly render: () => Promise<string>;
}

/** In the order in which they must run: the sources of a later one may import an earlier one's file. */
export const GENERATORS: readonly Generator[] = [
  { path: "src/sandbox/backends.gen.ts", render: async () => renderBackends(await findBackends()) },
  { path: "src/sandbox/registry.gen.ts", render: async () => renderRegistry(await findBackends()) },
  { path: "src/sandbox/driver-options.gen.ts", render: async () => renderDriverOptions(await findOptionSets()) },
  { path: "docs/concepts/board.md", render: async () => renderBoardPage() },
  { path: "docs/reference/errors.md", render: async () => renderErrorReference() },
  { path: "docs/reference/configuration.md", render: async () => (await import("./gen-config-docs.ts")).renderConfigReference() },
  { path: "docs/reference/mcp.md", render: async () => (await import("./gen-mcp-docs.ts")).renderToolReference() },
  { path: "docs/reference/cli.md", render: async () => (await import("./gen-cli-docs.ts")).renderCliReference() },
];

if (import.meta.main) {
  const checkOnly = process.argv.includes("--check");
  for (const generator of GENERATORS) await bringUpToDate(generator, checkOnly);
}

async function bringUpToDate({ path, render }: Generator, checkOnly: boolean): Promise<void> {
  const text = await render();
  if (text === (await currentText(path))) return;
  if (checkOnly) {
    console.error(`${path} is stale: run \`npm run gen\``);
    process.exitCode = 1;
    return;
  }
  await mkdir(dirname(join(ROOT, path)), { recursive: true });
  await writeFile(join(ROOT, path), text);
  console.error(`${path} written`);
}

/** Undefined when there is no such file. */
export async function currentText(path: string): Promise<string | undefined> {
  try {
    return await readFile(join(ROOT, path), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
