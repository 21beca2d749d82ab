/** @module The one error class of Holdfast and the closed list of its codes. */
import { withoutPassword, withoutPasswords } from "./without-password.ts";

/** What a code means and what a person can do about it; `docs/reference/errors.md` is generated from this table. */
export interface ErrorKind {
  readonly meaning: string;
  readonly fix: string;
  /** True when the same request may succeed later without any change. Never true for a command that might have run. */
  readonly retryable: boolean;
}

export const ERROR_KINDS = {
  aborted: {
    meaning: "The caller cancelled the operation before it finished.",
    fix: "Nothing: this was asked for.",
    retryable: false,
  },
  "archive-refused": {
    meaning: "The archive holds what no archive of a profile or board holds, or is damaged. Nothing was taken from it.",
    fix: "Only import what `holdfast profile export` or `holdfast kanban boards export` made.",
    retryable: false,
  },
  "artifact-refused": {
    meaning: "A file cannot be kept with a task: it is not there, is no regular file, or lies outside the workspace of the worker.",
    fix: "Name a regular file; a worker copies it into its workspace first.",
    retryable: false,
  },
  "attachment-not-found": {
    meaning: "There is no attachment of that number, or it was removed.",
    fix: "Look at the attachments of the task again.",
    retryable: false,
  },
  "backend-broken": {
    meaning: "The configured backend is there but does not work.",
    fix: "Run `holdfast doctor`; it names the reason and the fix. Holdfast never falls back to another backend.",
    retryable: true,
  },
  "backend-not-applicable": {
    meaning: "The configured backend cannot run on this machine.",
    fix: "Choose another one with `holdfast config set terminal.backend NAME`.",
    retryable: false,
  },
  "board-damaged": {
    meaning: "The database of the board is damaged. It was left as it is.",
    fix: "Restore a backup, as the guide of the board (docs/guides/board.md) says under Upkeep, or move the file away to begin with an empty board.",
    retryable: false,
  },
  "board-exists": {
    meaning: "A board of that name is already there.",
    fix: "Choose another name.",
    retryable: false,
  },
  "board-not-found": {
    meaning: "There is no board of that name, or it is archived.",
    fix: "Correct the name; `holdfast kanban boards list` shows what is there.",
    retryable: false,
  },
  "board-too-new": {
    meaning: "The database of the board was made by a newer version of Holdfast.",
    fix: "Use that version, or another database.",
    retryable: false,
  },
  "board-unavailable": {
    meaning:
      "The database of the board cannot be opened, reached or written. Nothing was changed, unless the connection broke at the very end.",
    fix: "See the message: often a full disk, permissions, or a server that does not run.",
    retryable: true,
  },
  busy: {
    meaning: "Something still runs in the sandbox, so it was not removed.",
    fix: "Wait for it, stop it, or repeat the command with --force.",
    retryable: true,
  },
  "claim-lost": {
    meaning: "The run has ended or was revoked, so nothing can be written in its name any more.",
    fix: "Stop working on the task: somebody else may have it now.",
    retryable: false,
  },
  closed: {
    meaning: "The object or lease that was used has been closed.",
    fix: "Open a new one.",
    retryable: false,
  },
  "config-bad-value": {
    meaning: "A configuration value is not of the kind its key expects.",
    fix: "Correct the value where the message says it comes from.",
    retryable: false,
  },
  "config-changed": {
    meaning: "config.yaml was changed by another process while it was being edited.",
    fix: "Edit it again, beginning with what it says now.",
    retryable: false,
  },
  "config-not-editable": {
    meaning: "A key cannot be changed in config.yaml without changing something else in it, for example because of an anchor.",
    fix: "Change it by hand: `holdfast config edit`.",
    retryable: false,
  },
  "config-syntax": {
    meaning: "A configuration file is not valid YAML, or a .env line is not NAME=value.",
    fix: "Correct the line that the message names.",
    retryable: false,
  },
  "config-unknown-key": {
    meaning: "A configuration key does not exist.",
    fix: "Correct the spelling; `holdfast config list` shows every key.",
    retryable: false,
  },
  "config-unreadable": {
    meaning: "A configuration file exists but cannot be read.",
    fix: "Make it a regular file that the current user may read.",
    retryable: false,
  },
  "cwd-invalid": {
    meaning:
      "The working directory asked for does not exist in the sandbox or is not a directory, or the one that Holdfast was called from has been deleted.",
    fix: "Create it or choose another one.",
    retryable: false,
  },
  "daemon-failed": {
    meaning: "The daemon of a sandbox, holdfastd, could not be started or does not answer. The command did not run.",
    fix: "See the message. With a container, `holdfast sandbox stop --force TASK` ends what runs in it and keeps its files, and the next use starts it with a new daemon. On the local backend `holdfast sandbox rm TASK` does, as files there are your own. With `terminal.daemon: off`, new sandboxes have no daemon.",
    retryable: true,
  },
  "daemon-missing": {
    meaning: "Background processes, terminals and copies of trees need holdfastd, which is not there.",
    fix: "Run `holdfast doctor`, which says why and what to do.",
    retryable: false,
  },
  "engine-not-found": {
    meaning: "The program of the container engine, docker or podman, is not there.",
    fix: "Install docker or podman, or set HOLDFAST_DOCKER_BINARY to the program.",
    retryable: false,
  },
  "engine-not-responding": {
    meaning: "The container engine is installed but does not answer.",
    fix: "Start it, or correct the permissions that the message names, then run `holdfast doctor`.",
    retryable: true,
  },
  "file-exists": {
    meaning: "Something is already there under that path in the sandbox.",
    fix: "Choose another path, or remove it first.",
    retryable: false,
  },
  "file-failed": {
    meaning: "A file of the sandbox could not be read or written.",
    fix: "See the message: often permissions, a full disk, or a directory where a file was expected.",
    retryable: false,
  },
  "file-not-found": {
    meaning: "There is nothing under that path in the sandbox.",
    fix: "Correct the path.",
    retryable: false,
  },
  internal: {
    meaning: "Holdfast met a state it should never be in.",
    fix: "Run the command again with --debug and report what it prints.",
    retryable: false,
  },
  "invalid-command": {
    meaning: "The command is empty or holds a NUL byte, so no shell can run it.",
    fix: "Correct the command.",
    retryable: false,
  },
  "invalid-input": {
    meaning: "An argument of a library call or a flag has the wrong form.",
    fix: "Correct the argument that the message names.",
    retryable: false,
  },
  "invalid-name": {
    meaning: "A profile, task or session name has characters or a form that is not allowed.",
    fix: "Follow the rule that the message names; letters, digits, `_` and `-` are always allowed.",
    retryable: false,
  },
  "link-refused": {
    meaning: "One task cannot be made to wait for the other.",
    fix: "The message says why: a cycle, two boards, or a child that is finished.",
    retryable: false,
  },
  locked: {
    meaning: "Another process held a lock on the same file for too long.",
    fix: "Try again when the other process is done.",
    retryable: true,
  },
  "model-failed": {
    meaning: "The model gave no answer that can be used. Nothing was changed.",
    fix: "See the message: often the address, the key, the name of the model, or a limit of the provider.",
    retryable: true,
  },
  "model-not-configured": {
    meaning: "That needs a model, and none is configured.",
    fix: "Set `model.base_url` and `model.name` with `holdfast config set`, and HOLDFAST_MODEL_API_KEY in `.env` if the endpoint wants a key.",
    retryable: false,
  },
  "move-refused": {
    meaning: "The rules of the board do not allow that for the task or board as it is now.",
    fix: "The message says why, and who could do it.",
    retryable: false,
  },
  "operation-timeout": {
    meaning: "A backend did not answer within the limit of the operation.",
    fix: "Run `holdfast doctor`, then try again.",
    retryable: true,
  },
  "output-failed": {
    meaning: "Holdfast's own standard output could not be written.",
    fix: "Free space where it is redirected to, or redirect it elsewhere.",
    retryable: false,
  },
  "process-ended": {
    meaning: "The background process has ended, so it cannot be reached any more.",
    fix: "`holdfast process ls` shows what runs.",
    retryable: false,
  },
  "process-input-closed": {
    meaning: "The standard input of the background process is not open.",
    fix: "Start it with --stdin or --tty to be able to write to it.",
    retryable: false,
  },
  "process-limit": {
    meaning: "The sandbox already runs as many background processes as it may.",
    fix: "End one with `holdfast process kill`.",
    retryable: true,
  },
  "process-not-found": {
    meaning: "There is no background process of that id or name in the sandbox.",
    fix: "`holdfast process ls` shows the existing ones.",
    retryable: false,
  },
  "profile-exists": {
    meaning: "A profile of that name is already there.",
    fix: "Choose another name.",
    retryable: false,
  },
  "profile-in-use": {
    meaning: "Something belongs to the profile that cannot follow it to another name, or cannot be removed. Nothing was changed.",
    fix: "End or remove what the message names, then try again.",
    retryable: true,
  },
  "profile-not-found": {
    meaning: "There is no profile of that name.",
    fix: "`holdfast profile list` shows the existing ones; `holdfast profile create NAME` makes one.",
    retryable: false,
  },
  protocol: {
    meaning: "The daemon in a sandbox sent what its protocol does not allow, so the connection was cut.",
    fix: "Remove the sandbox if you do not trust what runs in it; otherwise report what the message says.",
    retryable: false,
  },
  "sandbox-create-failed": {
    meaning: "The sandbox could not be made. Nothing was left behind.",
    fix: "See the message and its cause, then try again.",
    retryable: true,
  },
  "sandbox-lost": {
    meaning: "The sandbox disappeared while it was in use. The command may have run, so it was not repeated.",
    fix: "Look at what the command may have done, then run it again if that is safe.",
    retryable: false,
  },
  "sandbox-not-found": {
    meaning: "There is no sandbox for that profile and task.",
    fix: "`holdfast sandbox ls` shows what exists; the next `holdfast exec` makes one.",
    retryable: false,
  },
  "sandbox-stopped": {
    meaning: "The sandbox is there, but stopped, and looking into it would start it.",
    fix: "`holdfast sandbox up TASK` starts it; so does the next `holdfast exec`.",
    retryable: false,
  },
  "session-failed": {
    meaning: "The shell state of a session could not be made or restored. The command did not run.",
    fix: "Remove the session with `holdfast session rm NAME` and try again.",
    retryable: true,
  },
  "session-not-found": {
    meaning: "There is no session of that name in the sandbox.",
    fix: "`holdfast session ls` shows the existing ones.",
    retryable: false,
  },
  "spawn-failed": {
    meaning: "A process could not be started in the sandbox. The command did not run.",
    fix: "See the cause: often a missing bash, or a limit on processes or memory.",
    retryable: true,
  },
  "state-unreadable": {
    meaning: "A file in Holdfast's own directory cannot be read or does not have the expected content.",
    fix: "The message names the file; restore or remove it.",
    retryable: false,
  },
  "state-write-failed": {
    meaning: "Holdfast could not write to its own directory, for example because the disk is full.",
    fix: "Free space or correct the permissions of the directory that the message names.",
    retryable: true,
  },
  "task-not-found": {
    meaning: "There is no task with that id.",
    fix: "Correct the id; `holdfast kanban list --archived` shows those of a board.",
    retryable: false,
  },
  "too-large": {
    meaning: "What was to be copied is larger, or has more entries, than the limit that was given.",
    fix: "Raise the limit, or copy less.",
    retryable: false,
  },
  unsupported: {
    meaning: "The backend has no such thing.",
    fix: "The message says what there is instead.",
    retryable: false,
  },
  usage: {
    meaning: "The command line is not one that Holdfast understands.",
    fix: "See `holdfast --help` or `holdfast VERB --help`.",
    retryable: false,
  },
  "workspace-failed": {
    meaning: "The workspace of a task cannot be made, or something else is in its place. Nothing was started in it.",
    fix: "See the message: often a missing repository, a branch that is in use, or a link where a directory should be.",
    retryable: false,
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_KINDS;

export interface HoldfastErrorOptions {
  /** What to do about this very case; without it the code's general fix is shown. */
  hint?: string | undefined;
  /** What a program may want to know: paths, names, limits. Never secrets. */
  facts?: Record<string, unknown>;
  cause?: unknown;
}

// A registered symbol, so that two copies of the library in one process still recognise each other's errors.
const BRAND = Symbol.for("holdfast.error");

/**
 * The sandbox, the configuration or Holdfast itself failed. A command that fails is not an error but a result.
 * Errors end in terminals, logs, runs of boards and containers, so whatever they quote loses its passwords here.
 */
export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly retryable: boolean;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, { hint, facts = {}, cause }: HoldfastErrorOptions = {}) {
    super(withoutPassword(message), cause === undefined ? undefined : { cause });
    this.name = "HoldfastError";
    this.code = code;
    this.hint = withoutPassword(hint ?? ERROR_KINDS[code].fix);
    this.retryable = ERROR_KINDS[code].retryable;
    this.facts = Object.freeze(withoutPasswords({ ...facts }));
    Object.defineProperty(this, BRAND, { value: true });
  }

  static isInstance(value: unknown): value is HoldfastError {
    return typeof value === "object" && value !== null && BRAND in value;
  }

  toJSON(): Record<string, unknown> {
    return { code: this.code, message: this.message, hint: this.hint, retryable: this.retryable, facts: this.facts };
  }
}

/** The code of a failed system call (`ENOENT`), or undefined for every other kind of value. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** One readable line for any thrown value, without passwords. */
export function describeError(error: unknown): string {
  return withoutPassword(error instanceof Error ? error.message : String(error));
}

/** Keeps a HoldfastError as it is and wraps everything else, with the original as its cause. */
export function wrapError(
  error: unknown,
  code: ErrorCode,
  message: string,
  options: Omit<HoldfastErrorOptions, "cause"> = {},
): HoldfastError {
  if (HoldfastError.isInstance(error)) return error;
  return new HoldfastError(code, `${message}: ${describeError(error)}`, { ...options, cause: error });
}
