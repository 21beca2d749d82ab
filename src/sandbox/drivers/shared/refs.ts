/** @module Small questions that every driver answers the same way. */
import { HoldfastError } from "../../../base/errors.ts";
import type { Owner, SandboxRef } from "../../driver.ts";

/** Whether an owner fits a `list` filter; fields that are not given fit everything. */
export function ownerMatches(owner: Owner, filter: Partial<Owner>): boolean {
  return Object.entries(filter).every(([field, value]) => value === undefined || owner[field as keyof Owner] === value);
}

export function sandboxGone(code: "sandbox-not-found" | "sandbox-lost", ref: SandboxRef): HoldfastError {
  return new HoldfastError(code, `the sandbox of task ${ref.owner.task} no longer exists`, {
    facts: { sandbox: ref.id, mayHaveRun: false },
  });
}
