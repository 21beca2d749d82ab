/** @module What a worker's words mean on the host: paths in the sandbox become private copies, and its workspace becomes the real one. */
import { mkdir, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { HoldfastError } from "../../base/errors.ts";
import { LARGEST_ATTACHMENT } from "../../board/schema.ts";
import type { Files } from "../../sandbox/files.ts";
import { readRegular } from "./read-request.ts";
import type { GivenVerb, GivenWord } from "./verbs.ts";

export interface HostWordsOptions {
  /** In the sandbox. */
  readonly files: Files;
  /** Where the verb was called, in the sandbox. */
  readonly cwd: string;
  /** The workspace: its path in the sandbox and on the host. */
  readonly workspace: { readonly inside: string; readonly outside: string };
  /** Where copies go; private and empty. */
  readonly copies: string;
}

const MOST_FILES = 20;
const MOST_BYTES = 100 * 1024 * 1024;

/** @throws `too-large`, `invalid-input` for what would fill the disk of the host */
export async function onHost({ verb, words }: GivenVerb, options: HostWordsOptions): Promise<GivenVerb> {
  checkPaths(
    words.filter(isPath).map(({ value }) => value),
    options.cwd,
  );
  const translated: GivenWord[] = [];
  const taken = { bytes: 0 };
  for (const [index, word] of words.entries()) translated.push({ ...word, value: await translate(word, { ...options, index, taken }) });
  return { verb, words: translated };
}

/** Where a verb takes `-` for the input, which was handed over, it is none. Everywhere else it is a name: left as it is, it would be one on the host. */
export function isPath({ kind, value }: GivenWord): boolean {
  return kind === "file" || (kind === "file-or-input" && value !== "-");
}

/** Each is copied, and what is attached is copied again. */
function checkPaths(paths: readonly string[], cwd: string): void {
  if (paths.length > MOST_FILES) {
    throw new HoldfastError("too-large", `${paths.length} files are named, and ${MOST_FILES} are the most`, {
      hint: "put them into one archive, or attach them one after the other",
      facts: { limit: MOST_FILES },
    });
  }
  const places = paths.map((path) => posix.resolve(cwd, path));
  const again = paths.find((_, index) => places.indexOf(places[index] ?? "") < index);
  if (again !== undefined) throw new HoldfastError("invalid-input", `${again} is named twice`, { facts: { path: again } });
}

interface TranslateOptions extends HostWordsOptions {
  readonly index: number;
  /** By all files of the request. */
  readonly taken: { bytes: number };
}

async function translate(word: GivenWord, options: TranslateOptions): Promise<string> {
  if (word.kind === "workspace") return placeFor(word.value, options);
  return isPath(word) ? fetchFile(word.value, options) : word.value;
}

async function fetchFile(path: string, { files, cwd, copies, index, taken }: TranslateOptions): Promise<string> {
  const absolute = posix.resolve(cwd, path);
  const content = await readRegular(files, absolute, { most: LARGEST_ATTACHMENT, what: path });
  if (content === null)
    throw new HoldfastError("file-not-found", `there is no ${path}`, { hint: "name a file in the sandbox", facts: { path } });
  taken.bytes += content.length;
  if (taken.bytes > MOST_BYTES) {
    throw new HoldfastError("too-large", `the files have more than ${MOST_BYTES} bytes together, which are the most at once`, {
      hint: "attach them one after the other",
      facts: { limit: MOST_BYTES },
    });
  }
  // A directory for each: two may have the same name, which is what their attachments are called.
  const directory = join(copies, String(index));
  await mkdir(directory, { mode: 0o700 });
  const copy = join(directory, posix.basename(absolute));
  await writeFile(copy, content, { mode: 0o600, flag: "wx" });
  return copy;
}

/** Any other directory of the host would be a way out of the sandbox: it would be mounted into that of the new task. */
function placeFor(value: string, { workspace }: HostWordsOptions): string {
  if (value === "scratch" || value === "worktree") return value;
  if (value === `dir:${workspace.inside}`) return `dir:${workspace.outside}`;
  throw new HoldfastError(
    "move-refused",
    `a worker in a sandbox cannot choose ${JSON.stringify(value.slice(0, 80))} as the workspace of a task`,
    {
      hint: `it may be scratch, worktree, or dir:${workspace.inside} for its own`,
    },
  );
}
