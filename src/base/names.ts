/** @module The rules for names of profiles, tasks and sessions. Every name becomes a path segment, so all of them are checked here. */
import { checkInput, TEXT } from "./check-input.ts";
import { HoldfastError } from "./errors.ts";
import { digest } from "./ids.ts";

const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const SESSION_NAME = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const PLAIN_SEGMENT = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;
const LONGEST_TASK_NAME = 128;

export const DEFAULT_PROFILE = "default";
export const DEFAULT_TASK = "default";
export const DEFAULT_SESSION = "default";

/** Trims and lower-cases, then refuses everything but `[a-z0-9][a-z0-9_-]{0,63}` (K1). */
export function parseProfileName(input: string): string {
  checkInput("profile", input, TEXT);
  const name = input.trim().toLowerCase();
  if (PROFILE_NAME.test(name)) return name;
  throw invalidName("profile", input, "1 to 64 of a-z, 0-9, `_` and `-`, beginning with a letter or digit");
}

export function parseSessionName(input: string): string {
  checkInput("session", input, TEXT);
  if (SESSION_NAME.test(input)) return input;
  throw invalidName("session", input, "1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`, beginning with a letter or digit, without `..`");
}

/**
 * Task names come from boards and chat gateways, so whatever can be printed is allowed; `taskSegment` makes a path of it. What is not seen
 * at an end would make two names look alike.
 */
export function parseTaskName(input: string): string {
  checkInput("task", input, TEXT);
  const wellFormed = input.length > 0 && input.length <= LONGEST_TASK_NAME && input.isWellFormed();
  if (wellFormed && !/[\p{Cc}\p{Zl}\p{Zp}]|^\s|\s$/u.test(input)) return input;
  throw invalidName("task", input, "1 to 128 characters without control characters or line breaks, not beginning or ending with a blank");
}

/**
 * The path segment of a task. Names that are not plain get a digest behind a `~`, which no plain name can hold,
 * so two tasks never share a directory.
 */
export function taskSegment(task: string): string {
  if (PLAIN_SEGMENT.test(task)) return task;
  return `${task.replace(/^-|[^A-Za-z0-9_-]/g, "_").slice(0, 40)}~${digest(task, 12)}`;
}

function invalidName(kind: "profile" | "session" | "task", input: string, rule: string): HoldfastError {
  const shown = input.length > 80 ? `${input.slice(0, 80)}…` : input;
  return new HoldfastError("invalid-name", `${JSON.stringify(shown)} is not a valid ${kind} name`, {
    hint: `a ${kind} name is ${rule}`,
    facts: { kind, name: shown },
  });
}
