/** @module When a profile gets another name or goes: one at a time, and what other parts have to do then. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { withFileLock } from "../base/file-lock.ts";
import { DEFAULT_PROFILE } from "../base/names.ts";
import { boardFiles } from "../board/files.ts";
import type { App } from "./create-app.ts";

export interface ProfileHooks {
  /** Hands the unfinished tasks of the old name over to the new one, and returns how many that were. */
  renameAssignee?(from: string, to: string): Promise<number>;
  /** What works under the profile outside of its sandboxes, in words; empty when nothing does. */
  running?(profile: string): Promise<readonly string[]>;
  /** Ends workers that have outlived their last word and their supervisor. False: one is left to its supervisor, which ends it soon. */
  endLeft?(profile: string): Promise<boolean>;
  /** Unfinished tasks that are assigned to it, the most urgent first. */
  assigned?(profile: string): Promise<readonly string[]>;
  /** The tasks that `end` would take from whoever works on them. */
  ending?(profile: string): Promise<readonly string[]>;
  /** Ends it, and returns the tasks that were worked on. */
  end?(profile: string): Promise<readonly string[]>;
}

/** Boards that have never been used are not made for this. */
export async function profileHooks(app: App): Promise<ProfileHooks> {
  const elsewhere = async () => (await (await app.forProfile(DEFAULT_PROFILE)).config()).values.kanban.database !== null;
  if (!existsSync(boardFiles(app.profiles.root).root) && !(await elsewhere())) return {};
  const { profileBoards } = await import("./profile-boards.ts");
  return await profileBoards(app);
}

/** Ending what runs in many sandboxes takes its time. */
const WAIT_MS = 120_000;

/** Of two that rename or delete at once, the second begins when the first is done: what it would write could bring a deleted home back. */
export function changingProfiles<T>({ profiles, clock }: App, action: () => Promise<T>): Promise<T> {
  return withFileLock(join(profiles.root, "profiles"), action, { clock, timeoutMs: WAIT_MS });
}
