/** @module The board that counts from now on, kept in a file beside the boards. */
import { rm } from "node:fs/promises";
import { writeFailed, writeFileAtomic } from "../base/atomic-file.ts";
import { HoldfastError } from "../base/errors.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { readStateFile } from "../base/regular-file.ts";
import type { Board } from "../board/boards.ts";
import type { Kanban } from "./kanban.ts";

/** @throws `board-not-found` for one that is archived */
export async function switchBoard({ files }: Kanban, { slug, archivedAt }: Board): Promise<void> {
  if (archivedAt !== null) {
    throw new HoldfastError("board-not-found", `the board ${slug} is archived`, { hint: "use another board", facts: { board: slug } });
  }
  await makeDirectory(files.root).catch((error: unknown) => Promise.reject(writeFailed(files.root, error)));
  await writeFileAtomic(files.current, `${slug}\n`, { mode: 0o600 });
}

/** After the board went away: then `default` counts again. Says whether it was the switched one. */
export async function unswitchBoard({ files }: Kanban, slug: string): Promise<boolean> {
  if (readStateFile(files.current)?.trim() !== slug) return false;
  await rm(files.current, { force: true }).catch((error: unknown) => Promise.reject(writeFailed(files.current, error)));
  return true;
}
