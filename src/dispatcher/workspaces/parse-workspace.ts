/** @module The text in which a task says what workspace it wants. */
import type { Workspace } from "../workspace.ts";
import { refused } from "./refuse.ts";

export interface WantedWorkspace {
  readonly kind: Workspace["kind"];
  /** Null: none was named. */
  readonly path: string | null;
}

/** The store has checked it; a database may also be changed by others. @throws `workspace-failed` */
export function parseWorkspace(text: string): WantedWorkspace {
  if (text === "scratch" || text === "worktree") return { kind: text, path: null };
  const [, kind, path] = /^(dir|worktree):(\/.*)$/s.exec(text) ?? [];
  if (kind !== undefined && path !== undefined && !path.split("/").includes("..") && !path.includes("\0")) {
    return { kind: kind as WantedWorkspace["kind"], path };
  }
  throw refused(`${JSON.stringify(text.slice(0, 200))} is not a workspace`, {
    hint: "scratch, dir:/path, worktree or worktree:/path, without ..",
  });
}

/** Null for what is none: nobody works there, and whoever would prepare it says so. */
export function tryParseWorkspace(text: string): WantedWorkspace | null {
  try {
    return parseWorkspace(text);
  } catch {
    return null;
  }
}
