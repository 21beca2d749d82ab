/** @module The licence texts of the packages that are inlined into dist/, as those licences demand. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Metafile } from "esbuild";

export async function renderLicences(root: string, metafiles: readonly Metafile[]): Promise<string> {
  const parts = ["The files in this directory contain the following packages.\n"];
  for (const folder of bundledPackages(metafiles)) {
    const { name, version, license } = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8")) as Record<string, string>;
    parts.push(`${name} ${version} (${license})\n\n${await licenceText(join(root, folder))}\n`);
  }
  return parts.join(`\n${"-".repeat(72)}\n\n`);
}

function bundledPackages(metafiles: readonly Metafile[]): string[] {
  const inputs = metafiles.flatMap((metafile) => Object.keys(metafile.inputs));
  const folders = inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(folders.filter((folder) => folder !== undefined))].sort();
}

async function licenceText(folder: string): Promise<string> {
  const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
  if (file === undefined) throw new Error(`${folder} is inlined into dist/ but has no licence file`);
  return (await readFile(join(folder, file), "utf8")).trim();
}
