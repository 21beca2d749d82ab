/** @module A board as an archive: `board.json`, the files of its attachments by number, and its logs if they are wanted. */
import { constants } from "node:fs";
import { lstat, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { describeError, HoldfastError } from "../base/errors.ts";
import { listDirectory } from "../base/list-directory.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { removeTree } from "../base/remove-tree.ts";
import type { ExportedBoard } from "../board/export-board.ts";
import type { BoardFiles } from "../board/files.ts";
import { stagingPath, sweepStaging } from "../profiles/staging.ts";
import { packTree } from "../sandbox/tree/pack.ts";
import { unpackArchive } from "../sandbox/tree/unpack.ts";

const MOST_BYTES = 2 * 1024 ** 3;
const MOST_ENTRIES = 50_000;
const LARGEST_BOARD = 256 * 1024 ** 2;
const BOARD_FILE = "board.json";
const FOLDERS: Readonly<Record<string, RegExp>> = { attachments: /^\d{1,15}$/, logs: /^t_[0-9a-f]{8}\.log(\.\d{1,3})?$/ };

/** What an archive is made of before it is packed, and after it was unpacked. Goes away with everything that was not taken out. */
export interface Staging extends AsyncDisposable {
  readonly path: string;
  attachment(id: number): string;
  log(name: string): string;
}

export async function createStaging(files: BoardFiles): Promise<Staging> {
  await sweepStaging(files.root);
  const path = stagingPath(files.root, "archive");
  for (const folder of Object.keys(FOLDERS)) await makeDirectory(join(path, folder));
  return {
    path,
    attachment: (id) => join(path, "attachments", String(id)),
    log: (name) => join(path, "logs", name),
    [Symbol.asyncDispose]: () => removeTree(path),
  };
}

export async function packStaging({ path }: Staging, board: ExportedBoard): Promise<Readable> {
  const { createGzip } = await import("node:zlib");
  await writeFile(join(path, BOARD_FILE), JSON.stringify(board), { mode: 0o600 });
  const { stream } = await packTree(path, { maxBytes: MOST_BYTES, maxEntries: MOST_ENTRIES });
  const gzip = createGzip();
  // Whoever reads is told, but that begins only when the file is open.
  gzip.on("error", () => {});
  stream.on("error", (error) => gzip.destroy(error));
  return stream.pipe(gzip);
}

/** Puts into the staging what an archive holds, if that is what an archive of a board holds. @throws `archive-refused`, `too-large` */
export async function unpackStaging({ path }: Staging, file: string): Promise<ExportedBoard> {
  const { createGunzip } = await import("node:zlib");
  // A pipe would be waited for without end.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  if (!(await handle.stat()).isFile()) throw refused(file, "it is not a regular file");
  const source = handle.createReadStream({ autoClose: false });
  const gunzip = createGunzip();
  source.on("error", (error) => gunzip.destroy(error));
  try {
    const { skipped } = await unpackArchive(source.pipe(gunzip), path, { maxBytes: MOST_BYTES, maxEntries: MOST_ENTRIES });
    if (skipped[0] !== undefined) throw refused(file, `${skipped[0].path}: ${skipped[0].reason}`);
  } catch (error) {
    if (HoldfastError.isInstance(error) && ["too-large", "archive-refused"].includes(error.code)) throw error;
    const what = HoldfastError.isInstance(error) && typeof error.facts.what === "string" ? error.facts.what : describeError(error);
    throw refused(file, what, error);
  }
  await checkEntries(path, file);
  return await readBoard(join(path, BOARD_FILE), file);
}

async function checkEntries(path: string, file: string): Promise<void> {
  for (const name of listDirectory(path)) {
    const rule = Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : undefined;
    const facts = await lstat(join(path, name));
    if (rule === undefined ? name !== BOARD_FILE || !facts.isFile() : !facts.isDirectory())
      throw refused(file, `it holds ${JSON.stringify(name)}`);
    for (const inside of rule === undefined ? [] : listDirectory(join(path, name))) {
      const plain = (rule?.test(inside) ?? false) && (await lstat(join(path, name, inside))).isFile();
      if (!plain) throw refused(file, `it holds ${JSON.stringify(`${name}/${inside}`)}`);
    }
  }
}

async function readBoard(path: string, file: string): Promise<ExportedBoard> {
  try {
    if ((await lstat(path)).size > LARGEST_BOARD) throw refused(file, `its ${BOARD_FILE} is larger than ${LARGEST_BOARD} bytes`);
    const data = JSON.parse(await readFile(path, "utf8")) as ExportedBoard | null;
    // The store checks every field of it.
    if (typeof data?.board?.slug === "string") return data;
    throw refused(file, `its ${BOARD_FILE} is not that of a board`);
  } catch (error) {
    if (HoldfastError.isInstance(error)) throw error;
    throw refused(file, `its ${BOARD_FILE} cannot be read`, error);
  }
}

function refused(file: string, why: string, cause?: unknown): HoldfastError {
  return new HoldfastError("archive-refused", `${file} is not an archive of a board: ${why}`, {
    hint: "only import what `holdfast kanban boards export` made",
    facts: { file, reason: why },
    cause,
  });
}
