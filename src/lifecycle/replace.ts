/** @module When a lost sandbox may be replaced under a call, and what to tell the caller about it. */
import { Readable } from "node:stream";
import { HoldfastError } from "../base/errors.ts";
import type { CallOptions } from "../sandbox/call.ts";
import type { Capabilities } from "../sandbox/driver.ts";
import type { SandboxSpec } from "../sandbox/spec.ts";

export function isLoss(error: unknown): error is HoldfastError {
  return HoldfastError.isInstance(error) && error.code === "sandbox-lost";
}

/** Only a driver that says so: a missing fact counts as "may have run". */
export function certainlyDidNotRun(error: HoldfastError): boolean {
  return error.facts.mayHaveRun === false;
}

/** A stream that somebody has begun to read cannot be given to a second command. */
export function inputIsWhole(stdin: CallOptions["stdin"]): boolean {
  return !(stdin instanceof Readable) || !(stdin.readableDidRead || stdin.destroyed);
}

/** What was in the old sandbox and is not in the new one, for people. */
export function whatWasLost({ isolatesFiles }: Capabilities, { keepFiles }: SandboxSpec): string[] {
  const lost = ["all sessions, with their directories, variables, functions and aliases", "all background processes"];
  if (isolatesFiles) {
    lost.push(
      keepFiles ? "files outside its home and workspace, installed packages among them" : "all files that were only in the sandbox",
    );
  }
  return lost;
}
