/** @module Files of boards that nobody needs any more, and the care with which they are removed: never through a link, never outside. */
import { lstat, realpath, rmdir } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { describeError, systemCode } from "../base/errors.ts";
import { listDirectory } from "../base/list-directory.ts";
import { removeTree } from "../base/remove-tree.ts";
import type { BoardFiles } from "../board/files.ts";
import { worksIn } from "../dispatcher/workspaces/in-use.ts";
import { type RemoveManagedOptions, removeManaged } from "../dispatcher/workspaces/managed.ts";
import { mountsIn } from "../dispatcher/workspaces/mounts.ts";

export interface KeptFile {
  readonly path: string;
  readonly why: string;
}

export interface RemovingFiles extends Pick<RemoveManagedOptions, "removeForeign"> {
  readonly of?: ReadonlySet<string> | undefined;
  /** The task of another board that works in a directory, or null. @default nobody does */
  readonly userOf?: ((path: string) => Promise<string | null>) | undefined;
}

const WORKSPACES = "workspaces";

/**
 * What is below the directory of a board that has no row any more: everything, or what belongs to the tasks `of` when others may own the
 * rest. Says what stayed against our will.
 */
export async function removeBoardFiles(files: BoardFiles, slug: string, { of, ...options }: RemovingFiles = {}): Promise<KeptFile[]> {
  const top = files.board(slug);
  const astray = await leadsAstray(files, top);
  if (astray === "missing") return [];
  if (astray !== null) return [{ path: top, why: astray }];
  const kept: KeptFile[] = [];
  for (const name of listDirectory(top)) {
    const path = join(top, name);
    const folder = await isDirectory(path);
    if (name === WORKSPACES && folder) kept.push(...(await removeWorkspaces(files, slug, { of, ...options })));
    else if (of === undefined) kept.push(...(await removePath(files, path)));
    else if (folder) for (const entry of entriesOf(path, of)) kept.push(...(await removePath(files, join(path, entry))));
    // Not empty: what was kept is in there.
    if (folder) await rmdir(path).catch(() => {});
  }
  await rmdir(top).catch(() => {});
  return kept;
}

/** Named like a task, as directories are, or like it with an ending, as logs are. */
function entriesOf(directory: string, of: ReadonlySet<string> | undefined): string[] {
  return listDirectory(directory).filter((name) => of === undefined || of.has(name.split(".", 1)[0] ?? ""));
}

async function removeWorkspaces(files: BoardFiles, board: string, { of, userOf, removeForeign }: RemovingFiles): Promise<KeptFile[]> {
  const kept: KeptFile[] = [];
  for (const task of entriesOf(files.workspaces(board), of)) {
    const path = join(files.workspaces(board), task);
    const user = (await userOf?.(path)) ?? null;
    if (user !== null) kept.push({ path, why: worksIn(user) });
    else if (await isDirectory(path)) {
      await removeManaged({ files, board, task }, { removeForeign }).catch((error: unknown) =>
        kept.push({ path, why: describeError(error) }),
      );
    } else kept.push(...(await removePath(files, path)));
  }
  return kept;
}

/** Only strictly inside the directory of a board, as it is written and where it really is. */
export async function removePath(files: BoardFiles, path: string): Promise<KeptFile[]> {
  const astray = await leadsAstray(files, join(path, ".."));
  if (astray === "missing") return [];
  if (astray !== null) return [{ path, why: astray }];
  try {
    const [mount] = await mountsIn(join(await realpath(join(path, "..")), basename(path)));
    if (mount !== undefined) return [{ path, why: `something is mounted at ${mount}` }];
    await removeTree(path);
    return [];
  } catch (error) {
    return [{ path, why: describeError(error) }];
  }
}

/** Why nothing may be removed below a directory, or null. */
export async function leadsAstray(files: BoardFiles, directory: string): Promise<string | null> {
  const inside = relative(files.root, directory);
  const [folder, slug] = inside.split("/");
  if (folder !== "boards" || !slug || slug === "..") return "it is not inside a board";
  try {
    return (await realpath(directory)) === join(await realpath(files.root), inside) ? null : "a link leads out of the boards";
  } catch (error) {
    if (systemCode(error) === "ENOENT") return "missing";
    return describeError(error);
  }
}

/** And no link to one. */
async function isDirectory(path: string): Promise<boolean> {
  return (await lstat(path)).isDirectory();
}
