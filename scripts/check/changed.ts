/**
 * @module Which test files a change can reach: by what they import, and by every other file or folder of the repository that they name, since
 * many tests start programs and read documents. A test that names the repository as a whole is reached by everything.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const ROOT = dirname(dirname(import.meta.dirname));
/** How tests are run, and with what. */
const EVERYTHING = /^(?:package\.json|package-lock\.json|tsconfig\.json|vitest\.config\.ts)$/;
const SOURCE = /\.ts$/;
/** What is named in no source, since it is found where the build has put it. */
const BUILT_FROM: Readonly<Record<string, readonly string[]>> = { "src/app/daemon-program.ts": ["holdfastd"] };
/** Known by their bare names. */
const FOLDERS = new Set(["docs", "examples", "holdfastd", "scripts"]);

/** Since main, committed or not. */
export function changedFiles(base = "main"): string[] {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).split("\n").filter(Boolean);
  const [fork = base] = git("merge-base", base, "HEAD");
  return [...new Set([...git("diff", "--name-only", fork), ...git("ls-files", "--others", "--exclude-standard")])].sort();
}

export function testFiles(): string[] {
  return execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.test.ts"], { cwd: ROOT, encoding: "utf8" })
    .split("\n")
    .filter((path) => path !== "" && existsSync(join(ROOT, path)));
}

/** Paths are relative to the repository. */
export function reachedBy(changed: readonly string[], tests: readonly string[]): string[] {
  if (changed.some((path) => EVERYTHING.test(path))) return [...tests];
  const named = new Map<string, readonly string[]>();
  const namedBy = (path: string) => {
    const known =
      named.get(path) ?? (SOURCE.test(path) && existsSync(join(ROOT, path)) ? [...namesIn(path), ...(BUILT_FROM[path] ?? [])] : []);
    named.set(path, known);
    return known;
  };
  const isChanged = (path: string) =>
    (path === "" && changed.length > 0) || changed.some((each) => each === path || each.startsWith(`${path}/`));
  return tests.filter((test) => {
    const seen = new Set([test]);
    for (const path of seen) {
      if (isChanged(path)) return true;
      for (const next of namedBy(path)) seen.add(next);
    }
    return false;
  });
}

/** What the strings of a file name that is there. "" is the repository. Of the product's own sources only what they import counts. */
function namesIn(path: string): string[] {
  const text = readFileSync(join(ROOT, path), "utf8");
  const strings = [...text.matchAll(/(["'`])((?:\.{1,2}|[\w@.-]+)(?:\/[\w@.-]+)*\/?)\1/g)].map(([, , name = ""]) => name);
  // Tests also speak of `..` as a path in a sandbox.
  const named = strings.filter((name) => !/^[./]+$/.test(name) || text.includes(`import.meta.dirname, "${name}"`));
  const folders = path.startsWith("src/") ? [dirname(path)] : [dirname(path), ""];
  const found = named.flatMap((name) => folders.map((folder) => placeOf(folder, name)));
  return [...new Set(found)].filter((each) => each !== null && (!path.startsWith("src/") || SOURCE.test(each))) as string[];
}

function placeOf(folder: string, name: string): string | null {
  if (!/[./]/.test(name) && !FOLDERS.has(name)) return null;
  const path = relative(ROOT, join(ROOT, folder, name));
  if (/^(?:\.\.|\.git|node_modules)(?:\/|$)/.test(path) || !existsSync(join(ROOT, path))) return null;
  // A folder that holds the file itself says nothing of what the file needs; the whole repository does.
  const around = path !== "" && `${folder}/`.startsWith(`${path}/`) && statSync(join(ROOT, path)).isDirectory();
  return around ? null : path;
}
