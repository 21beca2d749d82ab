/** @module Small questions that every driver answers the same way. */
import { join } from "node:path";
import { HoldfastError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { taskSegment } from "../../../base/names.ts";
import type { Owner, SandboxRef } from "../../driver.ts";
import { CALL_VARIABLE, SANDBOX_VARIABLE } from "../../session/script.ts";

/** Whether an owner fits a `list` filter; fields that are not given fit everything. */
export function ownerMatches(owner: Owner, filter: Partial<Owner>): boolean {
  return Object.entries(filter).every(([field, value]) => value === undefined || owner[field as keyof Owner] === value);
}

/** Profiles and installs may be configured to share one root, so the task alone does not name a sandbox. */
export function sandboxDirectory(root: string, { task, ...of }: Owner): string {
  return join(profileDirectory(root, of), taskSegment(task));
}

export function profileDirectory(root: string, { install, profile }: Omit<Owner, "task">): string {
  return join(root, taskSegment(install), taskSegment(profile));
}

/** The variables that say which sandbox, and which command in it, a process belongs to. */
export function processMarks(sandboxId: string, call = randomId()): Record<string, string> {
  return { [CALL_VARIABLE]: call, [SANDBOX_VARIABLE]: sandboxId };
}

export function sandboxGone(code: "sandbox-not-found" | "sandbox-lost", ref: SandboxRef): HoldfastError {
  return new HoldfastError(code, `the sandbox of task ${ref.owner.task} no longer exists`, {
    facts: { sandbox: ref.id, mayHaveRun: false },
  });
}
