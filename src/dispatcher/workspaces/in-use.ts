/**
 * @module Whether an unfinished task works in a directory, linked to the one that had it or not, and of whatever board: then nobody removes it
 * (K30).
 */
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isInside } from "../../base/open-inside.ts";
import type { Store } from "../../board/store.ts";
import { recordOf } from "../launcher.ts";
import { tryParseWorkspace } from "./parse-workspace.ts";

export type InUseStore = Pick<Store, "namedPlaces" | "runs">;

/** A task that works there, in a directory in it, or in one around it; null when there is none. */
export async function userOf(path: string, store: InUseStore): Promise<string | null> {
  const place = await realest(path);
  // Where its worker is, whatever its task says by now.
  for (const run of await store.runs({ open: true })) {
    const workspace = recordOf(run)?.workspace;
    if (workspace !== undefined && meets(await realest(workspace), place)) return run.task;
  }
  for (const named of await store.namedPlaces()) {
    const wanted = tryParseWorkspace(named.workspace);
    const directory = wanted?.path ?? named.defaultWorkdir;
    if (wanted === null || directory === null) continue;
    const real = await realest(directory);
    // A repository is around the worktrees of all its tasks, which do not need each other.
    if (wanted.kind === "worktree" ? real === place || isInside(real, place) : meets(real, place)) return named.task;
  }
  return null;
}

export function worksIn(task: string): string {
  return `${task} works in it`;
}

function meets(one: string, other: string): boolean {
  return one === other || isInside(one, other) || isInside(other, one);
}

/** Without links, as far as it is there: the rest is made when somebody works in it. */
async function realest(path: string): Promise<string> {
  const whole = resolve(path);
  const parent = dirname(whole);
  return await realpath(whole).catch(async () => (parent === whole ? whole : join(await realest(parent), basename(whole))));
}
