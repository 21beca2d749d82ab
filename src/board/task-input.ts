/** @module What may be said about a task, checked before it reaches the database. */
import { checkInput, type InputType, NUMBER, TEXT } from "../base/check-input.ts";
import { HoldfastError } from "../base/errors.ts";
import { parseProfileName } from "../base/names.ts";
import { checkRepeat, checkTimeZone } from "./repeat.ts";
import type { TaskTable } from "./schema.ts";

/** What a person decides about a task. */
export interface TaskFields {
  readonly title: string;
  /** @default "" */
  readonly body?: string | undefined;
  /** Higher comes first. @default 0 */
  readonly priority?: number | undefined;
  readonly tenant?: string | null | undefined;
  /** `scratch`, `dir:/path` or `worktree[:/path]`. @default "scratch" */
  readonly workspace?: string | undefined;
  readonly branch?: string | null | undefined;
  readonly maxRuntimeMs?: number | null | undefined;
  /** How many runs may fail one after the other; else the configured limit counts. */
  readonly maxRetries?: number | null | undefined;
  readonly skills?: readonly string[] | null | undefined;
  readonly model?: string | null | undefined;
  readonly deadline?: number | null | undefined;
  /** When it is done, the next one is made: `every 90m` after that (s, m, h, d, w), or at the times of five fields of cron. null ends it. */
  readonly repeat?: string | null | undefined;
  /** Of the times of cron, such as `Europe/Berlin`. @default the machine's */
  readonly timeZone?: string | null | undefined;
}

export type TaskColumns = Pick<
  TaskTable,
  | ("title" | "body" | "priority" | "tenant" | "workspace" | "branch" | "max_runtime_ms" | "max_retries" | "skills" | "model" | "deadline")
  | ("repeat" | "time_zone")
>;

const LONGEST_LINE = 1000;
const LONGEST_TEXT = 1024 * 1024;
const DEEPEST = 500;
const MOST_SKILLS = 100;
const LARGEST_COUNT = 2 ** 31 - 1;
const WORKSPACE = /^(scratch|worktree|(dir|worktree):\/.*)$/;

const DEFAULTS: Omit<TaskColumns, "title"> = {
  body: "",
  priority: 0,
  tenant: null,
  workspace: "scratch",
  branch: null,
  max_runtime_ms: null,
  max_retries: null,
  skills: null,
  model: null,
  deadline: null,
  repeat: null,
  time_zone: null,
};

/** The sum of two is still a date. */
export const LARGEST_WHOLE = 4e15;
const WHOLE: InputType = {
  expected: `a whole number from 0 to ${LARGEST_WHOLE}`,
  fits: (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= LARGEST_WHOLE,
};
const SKILLS: InputType = {
  expected: `a list of at most ${MOST_SKILLS} names`,
  fits: (value) => Array.isArray(value) && value.length <= MOST_SKILLS && value.every((each) => typeof each === "string" && isLine(each)),
};

export function newColumns(fields: TaskFields): TaskColumns {
  return { ...DEFAULTS, title: checkLine("title", fields.title), ...changedColumns(fields) };
}

/** Only those that were given. Whether cron knows a `repeat` is for `checkCron`, which must load it first. */
export function changedColumns(fields: Partial<TaskFields>): Partial<TaskColumns> {
  const columns: Partial<TaskColumns> = {};
  if (fields.title !== undefined) columns.title = checkLine("title", fields.title);
  if (fields.body !== undefined) columns.body = checkText("body", fields.body);
  if (fields.priority !== undefined) columns.priority = checkPriority(fields.priority);
  if (fields.workspace !== undefined) columns.workspace = checkWorkspace(fields.workspace);
  if (fields.tenant !== undefined) columns.tenant = optional(fields.tenant, (value) => checkLine("tenant", value));
  if (fields.branch !== undefined) columns.branch = optional(fields.branch, checkBranch);
  if (fields.model !== undefined) columns.model = optional(fields.model, (value) => checkLine("model", value));
  if (fields.maxRuntimeMs !== undefined)
    columns.max_runtime_ms = optional(fields.maxRuntimeMs, (value) => checkWhole("maxRuntimeMs", value));
  if (fields.maxRetries !== undefined) columns.max_retries = optional(fields.maxRetries, (value) => checkCount("maxRetries", value));
  if (fields.deadline !== undefined) columns.deadline = optional(fields.deadline, (value) => checkWhole("deadline", value));
  if (fields.skills !== undefined) columns.skills = optional(fields.skills, checkSkills);
  if (fields.repeat !== undefined) columns.repeat = optional(fields.repeat, checkRepeat);
  if (fields.timeZone !== undefined) columns.time_zone = optional(fields.timeZone, checkTimeZone);
  return columns;
}

export function checkAssignee(input: string | null | undefined): string | null {
  return input === null || input === undefined ? null : parseProfileName(input);
}

/** One line that is not empty. */
export function checkLine(field: string, value: string): string {
  checkInput(field, value, TEXT);
  if (isLine(value)) return value;
  throw new HoldfastError("invalid-input", `${field} must be one line of 1 to ${LONGEST_LINE} characters`, { facts: { field } });
}

export function checkText(field: string, value: string): string {
  checkInput(field, value, TEXT);
  // PostgreSQL cannot store a NUL, and half a character cannot be stored as UTF-8.
  if (value.length <= LONGEST_TEXT && value.isWellFormed() && !value.includes("\0")) return value;
  throw new HoldfastError("invalid-input", `${field} must be text of at most ${LONGEST_TEXT} characters without NUL`, { facts: { field } });
}

export function checkWhole(field: string, value: number): number {
  checkInput(field, value, WHOLE);
  return value;
}

/** Text that a program can read back. */
export function toJson(field: string, value: unknown): string {
  const text = jsonOf(value);
  if (text === undefined) throw new HoldfastError("invalid-input", `${field} cannot be written as JSON`, { facts: { field } });
  // JSON writes NUL as an escape, which both databases store.
  checkText(field, text);
  if (!isDeep(value)) return text;
  throw new HoldfastError("invalid-input", `${field} must not be nested more than ${DEEPEST} times`, { facts: { field } });
}

/** What can be written can be too deep to be shown: then nobody could read the task any more, nor what its children are told. */
function isDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) return true;
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
  return false;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    // A cycle, or a bigint.
    return undefined;
  }
}

/** As large as a column of small numbers holds. */
export function checkCount(field: string, value: number): number {
  if (checkWhole(field, value) <= LARGEST_COUNT) return value;
  throw new HoldfastError("invalid-input", `${field} must be at most ${LARGEST_COUNT}`, { facts: { field } });
}

function checkPriority(value: number): number {
  checkInput("priority", value, NUMBER);
  if (Number.isInteger(value) && Math.abs(value) <= LARGEST_COUNT) return value;
  throw new HoldfastError("invalid-input", "priority must be a whole number", { facts: { field: "priority" } });
}

function checkWorkspace(value: string): string {
  if (WORKSPACE.test(checkLine("workspace", value)) && !value.split("/").includes("..")) return value;
  throw new HoldfastError("invalid-input", "workspace must be scratch, dir:/path, worktree or worktree:/path, without ..", {
    facts: { field: "workspace" },
  });
}

/** As git wants it, which would otherwise only be found out when a worker is to begin. */
function checkBranch(value: string): string {
  const parts = checkLine("branch", value).split("/");
  const badPart = parts.some((part) => part === "" || part.startsWith(".") || part.endsWith(".lock"));
  if (!badPart && value !== "@" && value !== "HEAD" && !/^-|[\s~^:?*[\\]|\.\.|@\{|\.$/.test(value)) return value;
  throw new HoldfastError("invalid-input", `${JSON.stringify(value.slice(0, 80))} is not a name that git takes for a branch`, {
    hint: "no spaces, none of ~ ^ : ? * [ \\, no .. and no - at its beginning; for example fix/login",
    facts: { field: "branch" },
  });
}

function checkSkills(value: readonly string[]): string {
  checkInput("skills", value, SKILLS);
  return JSON.stringify(value);
}

function isLine(value: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what must not pass.
  return value.trim() !== "" && value.length <= LONGEST_LINE && value.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(value);
}

function optional<In, Out>(value: In | null, check: (value: In) => Out): Out | null {
  return value === null ? null : check(value);
}
