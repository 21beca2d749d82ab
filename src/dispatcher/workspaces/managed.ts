/** @module The directories that we make and remove ourselves, which lie strictly inside the managed root and are never reached by a link (K30). */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { describeError, HoldfastError, systemCode } from "../../base/errors.ts";
import { makeDirectory } from "../../base/make-directory.ts";
import { isInside } from "../../base/open-inside.ts";
import { isDenied, type RemoveTreeOptions, removeTree } from "../../base/remove-tree.ts";
import type { BoardFiles } from "../../board/files.ts";
import { mountsIn } from "./mounts.ts";
import { refused } from "./refuse.ts";

export interface Managed {
  readonly files: BoardFiles;
  readonly board: string;
  readonly task: string;
}

export interface RemoveManagedOptions extends RemoveTreeOptions {
  /** Removes what belongs to users of a sandbox, which this one may not. */
  readonly removeForeign?: ((path: string, task: string) => Promise<void>) | undefined;
}

/** Made if it is not there. @throws `workspace-failed` when anything but a directory is in its place, or in that of a parent */
export async function makeManaged(managed: Managed): Promise<string> {
  const path = managedPath(managed);
  try {
    await makeDirectory(managed.files.root);
    await walk(managed.files.root, path, { make: true });
    return path;
  } catch (error) {
    throw failure(`the workspace ${path} cannot be made`, error);
  }
}

/** False when there is none. @throws `workspace-failed` when it is not what it should be, or cannot be removed as a whole */
export async function removeManaged(managed: Managed, { removeForeign, ...options }: RemoveManagedOptions = {}): Promise<boolean> {
  const path = managedPath(managed);
  try {
    const real = await walk(managed.files.root, path, { make: false });
    if (real === null) return false;
    const [mount] = await mountsIn(real);
    if (mount !== undefined) throw refused(`something is mounted at ${mount}`, { facts: { mount } });
    const parent = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      const held = await heldPath(parent, real);
      await removeTree(held, options).catch(async (error: unknown) => {
        if (removeForeign === undefined || !isDenied(error)) throw error;
        // Its own path, which whoever removes it knows, too. Nobody but us may put a link there: no sandbox sees the directory around it.
        await removeForeign(real, managed.task);
        await removeTree(held, options);
      });
    } finally {
      await parent.close();
    }
    return true;
  } catch (error) {
    throw failure(`the workspace ${path} cannot be removed`, error);
  }
}

/** The names in the managed root of a board. @throws `workspace-failed` when the root is not a directory of ours */
export async function openManagedRoot(files: BoardFiles, board: string): Promise<string | null> {
  const root = files.workspaces(board);
  try {
    return (await walk(files.root, root, { make: false })) === null ? null : root;
  } catch (error) {
    throw failure(`the workspaces in ${root} cannot be listed`, error);
  }
}

function managedPath({ files, board, task }: Managed): string {
  const root = files.workspaces(board);
  const path = files.workspace(board, task);
  if (isInside(root, files.root) && dirname(path) === root && basename(path) === task) return path;
  throw refused(`the workspace of ${JSON.stringify(task)} would lie outside ${root}`, { facts: { task, path } });
}

/**
 * Goes down from `top`, which may itself be behind links as its owner likes. Returns the path without links, or null when something is
 * missing that is not to be made.
 */
async function walk(top: string, path: string, { make }: { make: boolean }): Promise<string | null> {
  const parts = relative(top, path).split(sep);
  let here = top;
  for (const part of parts) {
    here = join(here, part);
    if (make) await mkdir(here, { mode: 0o700 }).catch(unless("EEXIST"));
    const stats = await lstat(here).catch(unless("ENOENT"));
    if (stats === undefined) return null;
    if (!stats.isDirectory())
      throw refused(`${here} is ${stats.isSymbolicLink() ? "a link" : "not a directory"}`, { facts: { path: here } });
  }
  const real = await realpath(path);
  if (real === join(await realpath(top), ...parts)) return real;
  throw refused(`${path} leads to ${real}`, { facts: { path, real } });
}

/** A name that stays, even if a parent becomes a link now. */
async function heldPath(parent: FileHandle, real: string): Promise<string> {
  if (process.platform !== "linux") return real;
  const held = `/proc/self/fd/${parent.fd}`;
  if ((await readlink(held)) !== dirname(real)) throw refused(`${dirname(real)} was replaced meanwhile`);
  return join(held, basename(real));
}

function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (systemCode(error) !== code) throw error;
  };
}

function failure(what: string, error: unknown): HoldfastError {
  const reason = HoldfastError.isInstance(error) && error.cause !== undefined ? describeError(error.cause) : describeError(error);
  const facts = HoldfastError.isInstance(error) ? error.facts : { systemCode: systemCode(error) };
  return refused(`${what}: ${reason.replace(/\/proc\/self\/fd\/\d+\//g, "")}`, { facts, cause: error });
}
