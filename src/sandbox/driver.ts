/** @module THE SEAM between Holdfast and the places where sandboxes run. The comments are the contract; `test/contract/sandbox-driver.ts` checks it. */
import type { Writable } from "node:stream";
import type { DaemonAccess } from "./daemon/daemon.ts";
import type { SandboxSpec, Settings } from "./spec.ts";

/** Whose sandbox it is. Every resource a driver makes carries all three, and a driver only ever touches resources of the same install. */
export interface Owner {
  /** Tells two installations on one backend apart. */
  readonly install: string;
  readonly profile: string;
  readonly task: string;
}

/** Facts about a driver that its callers need, as data. The contract suite checks that they are true. */
export interface Capabilities {
  /** A sandbox outlives the process that made it and `list` finds it from any other process. */
  readonly persistsAcrossProcesses: boolean;
  /** Commands cannot see or change the host's files beyond what the spec mounts. */
  readonly isolatesFiles: boolean;
  /** Where a session begins when nothing else is configured: in the caller's directory, or in this one. */
  readonly startDirectory: "caller" | string;
  /** Meant for tests: not offered by `doctor`. */
  readonly testOnly: boolean;
}

export type Availability =
  | { readonly status: "ready"; readonly detail: string; readonly warnings?: readonly string[] }
  /** The backend makes no sense on this machine (wrong platform). */
  | { readonly status: "not-applicable"; readonly reason: string }
  /** The backend should work here but does not. */
  | { readonly status: "broken"; readonly reason: string; readonly fix: string };

/** A sandbox as its backend knows it. Plain data: may be stored, printed and handed to another process. */
export interface SandboxRef {
  readonly driver: string;
  /** The backend's own name for it; unique within the driver. */
  readonly id: string;
  readonly owner: Owner;
  /** Fingerprint of the spec it was made with. */
  readonly fingerprint: string;
  readonly state: "running" | "stopped";
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** What it was made with, where the driver knows. */
  readonly settings?: Settings | undefined;
  /** False: it goes with the process that made it. Not there where the driver does not know. */
  readonly persist?: boolean | undefined;
  /** When it ended, where it is stopped and the driver knows. Milliseconds since the epoch. */
  readonly stoppedAt?: number | undefined;
  /** Only when it was just made: the id of one that the owner had before and that is gone, although nobody told us. */
  readonly replaces?: string | undefined;
}

/** One process that runs in a sandbox, for people who ask what keeps it busy. */
export interface SandboxActivity {
  readonly pid: number;
  readonly command: string;
}

/** What one can know about a sandbox without entering it. */
export interface SandboxDescription {
  /** The backend's own words for its state. */
  readonly status: string;
  readonly image: string | null;
  /** The limits in force, by name and in words. */
  readonly limits: Readonly<Record<string, string>>;
  /** What was taken away from its hardening on purpose. */
  readonly weakened: readonly string[];
}

/** Something that a sandbox has left behind and that nothing uses any more. */
export interface Leftover {
  /** A path, or the backend's own name for it. */
  readonly what: string;
  readonly why: string;
  /** The work of the sandbox's users, not only of Holdfast. */
  readonly files: boolean;
  remove(): Promise<void>;
}

/**
 * How to come to the same backend again, whatever is configured by then. Plain data: may be stored and handed to another process, which gives
 * it to the driver as part of its context.
 */
export interface Access {
  /** Of the driver's settings, those that decide what it finds there. */
  readonly settings: Readonly<Record<string, string>>;
  /** The variables that lead there; null: must not be set, or it would lead elsewhere. */
  readonly variables: Readonly<Record<string, string | null>>;
  /** Which one it is, by its own word: the same way may lead to another one some day. */
  readonly engine: string;
}

export interface Abortable {
  /** Aborting rejects with code `aborted` and leaves nothing half-made behind. */
  readonly signal?: AbortSignal;
}

export interface PrepareOptions extends Abortable {
  /** One line for people, now and then. */
  onProgress?(line: string): void;
}

export interface DestroyOptions extends Abortable {
  /** Also what would otherwise outlive the sandbox: the files of one that keeps them. */
  readonly purge?: boolean;
  /** Only if it is stopped: one that somebody has started meanwhile stays, and `destroy` rejects. */
  readonly ended?: boolean;
}

export interface SandboxDriver {
  /** The value of `terminal.backend` that selects it. For people: code never compares it. */
  readonly name: string;
  readonly capabilities: Capabilities;

  /** Looks whether the backend works on this machine. Never throws, never changes anything. */
  check(options?: Abortable): Promise<Availability>;

  /** Fetches what `create` needs and may take long, such as an image. Without it, there is nothing to fetch. */
  prepare?(owner: Owner, spec: SandboxSpec, options?: PrepareOptions): Promise<void>;
  /** A running sandbox of the owner, if it can be reached without asking the backend, which may be slow. Null otherwise. */
  attach?(owner: Owner, options?: Abortable): Promise<{ readonly ref: SandboxRef; readonly connection: Connection } | null>;
  /**
   * Makes the sandbox of `owner`, or returns the one that is there: of two concurrent calls for one owner, in any two processes,
   * both get the same sandbox. An existing sandbox is returned as it is, also when it was made with another spec
   * (compare `fingerprint`). When it fails, nothing is left behind.
   */
  create(owner: Owner, spec: SandboxSpec, options?: Abortable): Promise<SandboxRef>;

  /**
   * Opens a connection, starting the sandbox if it is stopped.
   * @throws `sandbox-not-found` when it no longer exists.
   */
  connect(ref: SandboxRef, options?: Abortable): Promise<Connection>;

  /** Every sandbox of the install, or of one profile or task in it, whoever made it and whatever state it is in. */
  list(filter: Pick<Owner, "install"> & Partial<Owner>, options?: Abortable): Promise<SandboxRef[]>;

  /**
   * By its own id, whatever its labels say. `gone`: the backend that was asked does not have it.
   * @throws when the backend does not answer
   */
  stateOf(ref: SandboxRef, options?: Abortable): Promise<SandboxRef["state"] | "gone">;

  /** Asks the backend which one it is. Without it, there is only one: this machine. @throws when it does not answer */
  access?(options?: Abortable): Promise<Access>;

  /**
   * Ends everything that runs in the sandbox and removes all it owns. Absent is success, so twice is harmless.
   * The caller decides whether a busy sandbox may go.
   */
  destroy(ref: SandboxRef, options?: DestroyOptions): Promise<void>;

  /** What runs in the sandbox, whoever started it. Without it, the driver cannot tell. */
  activity?(ref: SandboxRef): Promise<SandboxActivity[]>;

  /** Ends everything that runs in the sandbox; its files stay, and `connect` starts it again. Without it, there is nothing to stop. */
  stop?(ref: SandboxRef, options?: Abortable): Promise<void>;

  /**
   * Makes a sandbox in which nothing runs that of the same task in another profile; what it keeps running for itself ends first. Without it,
   * a sandbox belongs to its profile for good.
   * @throws `sandbox-not-found`
   */
  handOver?(ref: SandboxRef, profile: string): Promise<SandboxRef>;

  /** @throws `sandbox-not-found` */
  describe?(ref: SandboxRef): Promise<SandboxDescription>;

  /**
   * Removes a directory of the host in which its sandboxes have worked, also what belongs to users of theirs. Absent is success. Without it,
   * this user may remove all that they make there.
   */
  removeDirectory?(path: string): Promise<void>;

  /** Takes the set-user-id and set-group-id bits from all files in such a directory. Without it, they have no more rights there than this user. */
  disarm?(path: string): Promise<void>;

  /** What sandboxes of the profile, or of one task in it, that are gone have left behind. Without it, nothing is. */
  leftovers?(of: Omit<Owner, "task"> & Partial<Owner>): Promise<Leftover[]>;
}

/** An open line to one sandbox: the lease. Closing it touches nothing inside; from then on `spawn` rejects with `closed`. */
export interface Connection extends AsyncDisposable {
  /** An absolute directory inside the sandbox that belongs to Holdfast alone (mode 0700) and goes with the sandbox. */
  readonly stateDir: string;

  /**
   * Starts a process inside the sandbox. The single primitive: everything else can be built on it.
   * @throws `spawn-failed` when the program could not be started, `sandbox-lost` when the sandbox is gone; then the fact `mayHaveRun` is
   * false exactly if the program certainly did not start, which is what allows a caller to make a new sandbox and try again.
   */
  spawn(argv: readonly string[], options: SpawnOptions): Promise<SandboxProcess>;

  /** Fast path for small private files; without it `files-over-spawn.ts` does the same with programs in the sandbox. */
  readonly files?: FileAccess;
  /** There when holdfastd runs in the sandbox. Without it calls go through `spawn`, and there are no background processes and no ptys. */
  readonly daemon?: DaemonAccess;
  /** Variables that every command gets, whatever its session has, and that are not saved with it: values that are taken from the caller. */
  readonly callVariables?: Readonly<Record<string, string>>;
  /** The sandbox had to be started again although nobody stopped it: what ran in it before is gone. */
  readonly restarted?: boolean;
}

export type OutputStream = "stdout" | "stderr";

export interface SpawnOptions {
  /** The complete environment of the process. Without it, the sandbox's own. Values never show in any argument list. */
  readonly env?: Readonly<Record<string, string>>;
  /** Absolute directory inside the sandbox. Without it, any directory that exists. */
  readonly cwd?: string;
  /** `none`: end of file at once. `pipe`: the process's `stdin` is there to be written. */
  readonly stdin: "none" | "pipe";
  /** Sends standard error into the same pipe as standard output, which keeps their exact order. */
  readonly merge?: boolean;
  /**
   * Receives every chunk, in order, never two at once per stream. While a returned promise is pending nothing more is read
   * from that stream, so the process itself is held back and nothing piles up in memory. A chunk may be overwritten once this has returned
   * and its promise has settled: keep a copy.
   * If it throws or rejects, nothing more is delivered and `ended` rejects with that error.
   */
  onOutput(chunk: Uint8Array, stream: OutputStream): void | Promise<void>;
}

export interface SandboxProcess {
  /** Id inside the sandbox. */
  readonly pid: number;
  /** Present with `stdin: "pipe"`. A program that does not read its input is no error: what it leaves is dropped. */
  readonly stdin: Writable | null;
  /**
   * Settles when the process itself has ended and all that it wrote before was handed to `onOutput`.
   * A background grandchild that holds the pipe open delays nothing. An `onOutput` that never settles holds it up for ever, but after
   * `kill` only for a few seconds: then the output that it has not taken is dropped.
   * @throws `sandbox-lost` when the sandbox went away before the end was known.
   */
  readonly ended: Promise<ExitStatus>;
  /**
   * Ends the process and everything that came from it, also what moved to another session or was orphaned:
   * TERM, `graceMs` to comply, then KILL. Resolves when all of it is gone; harmless after the end.
   */
  kill(options: { graceMs: number }): Promise<void>;
}

export interface ExitStatus {
  /** 128 + the signal's number when a signal ended it, as shells have it. */
  readonly exitCode: number;
  /** `SIGKILL` and the like, or null after a normal exit. */
  readonly signal: string | null;
}

/** Small private files inside a sandbox; all paths are absolute. */
export interface FileAccess {
  /** Null when there is no such file. */
  read(path: string): Promise<Uint8Array | null>;
  /** Mode 0600; the parent directory is made (0700) if missing. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** Entries of a directory, in no order; none when it does not exist. */
  list(path: string): Promise<FileEntry[]>;
  /** Removes a file, or a directory with all that is in it. Absent is success. Never follows a link. */
  remove(path: string): Promise<void>;
}

export interface FileEntry {
  readonly name: string;
  readonly directory: boolean;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}
