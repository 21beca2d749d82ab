/**
 * @module Trust does not rise on the way (K4, K29): what comes from a sandbox goes on in one, and nothing on the host works where a sandbox
 * could write, unless the profile says that it accepts that. A program on the host obeys what it finds: git alone runs what the settings of
 * a repository name.
 */
import { readlink } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import type { SandboxPlace } from "../board/sandbox-places.ts";
import type { Store } from "../board/store.ts";
import type { Task } from "../board/task.ts";
import type { WorkerDirectory, WorkerSettings } from "./worker.ts";
import { tryParseWorkspace } from "./workspaces/parse-workspace.ts";

export type Distrust =
  | { readonly reason: "from_sandbox" }
  /** It would be worked on there, on the host. */
  | ({ readonly reason: "sandbox_directory" } & SandboxPlace)
  /** Wherever it is worked on, git makes its worktree on the host. */
  | ({ readonly reason: "sandbox_repository" } & SandboxPlace);

export interface TrustOptions {
  readonly store: Pick<Store, "sandboxPlace" | "getBoard">;
  readonly workers: Pick<WorkerDirectory, "isolates">;
}

/** As many as Linux follows. */
const MOST_LINKS = 40;

/** Why a worker of the profile must not get the task; null when it may. */
export async function distrustOf(
  task: Pick<Task, "fromSandbox" | "workspace"> & { readonly board: string },
  { profile, worker }: { readonly profile: string; readonly worker: Pick<WorkerSettings, "acceptsFromSandboxes"> },
  { store, workers }: TrustOptions,
): Promise<Distrust | null> {
  if (worker.acceptsFromSandboxes || (task.workspace === "scratch" && !task.fromSandbox)) return null;
  const isolated = await workers.isolates(profile).catch(() => false);
  if (task.fromSandbox && !isolated) return { reason: "from_sandbox" };
  const wanted = tryParseWorkspace(task.workspace);
  if (wanted === null || wanted.kind === "scratch" || (wanted.kind === "dir" && isolated)) return null;
  const directory = wanted.path ?? (await store.getBoard(task.board)).defaultWorkdir;
  const found = directory === null ? null : await store.sandboxPlace(await wayTo(directory));
  return found && { reason: wanted.kind === "worktree" ? "sandbox_repository" : "sandbox_directory", ...found };
}

/** All directories that the system goes through to get there, since in any of them a link may be changed; and the last one. */
async function wayTo(path: string): Promise<{ among: string[]; around: string }> {
  const among = ["/"];
  const left = names(resolve(path));
  let here = "/";
  for (let links = 0; left.length > 0; ) {
    const next = join(here, left.shift() ?? "");
    const target = links < MOST_LINKS ? await readlink(next).catch(() => null) : null;
    among.push(next);
    if (target === null) {
      here = next;
      continue;
    }
    links += 1;
    left.unshift(...names(target));
    if (isAbsolute(target)) here = "/";
  }
  return { among: [...new Set(among)], around: here };
}

function names(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
