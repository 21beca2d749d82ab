/** @module Background processes: what starting one takes, what is known about one, and what can be done with it. */
import type { Writable } from "node:stream";
import type { Command } from "./call.ts";
import type { Abortable, ExitStatus } from "./driver.ts";

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

export interface ProcessOptions {
  /** For people; several processes may have the same. */
  readonly name?: string;
  /**
   * The shell state it begins with. Nothing it changes is saved.
   * @default "default"
   */
  readonly session?: string;
  /** Directory; relative to the session's. */
  readonly cwd?: string;
  /** Variables besides the session's; they win. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Keeps its standard input open for `write`. Otherwise it reads end of file.
   * @default false
   */
  readonly stdin?: boolean;
  /** A pty of this size instead of pipes. */
  readonly tty?: TerminalSize;
  /**
   * How many bytes of output are kept; when that is reached the oldest half is dropped. 0: all.
   * @default 64 MiB
   */
  readonly keepBytes?: number;
}

export interface ProcessInfo {
  /** `p_` and 8 hexadecimal digits. */
  readonly id: string;
  readonly name: string;
  /** What was asked for, as text; long ones are cut. */
  readonly command: string;
  /** Inside the sandbox. */
  readonly pid: number;
  readonly state: "running" | "ended";
  /** Null while it runs. 128 + the signal's number when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly tty: boolean;
  /** Its standard input can be written. */
  readonly inputOpen: boolean;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Bytes ever written, also those that were dropped since. */
  readonly outputBytes: number;
}

export interface LogOptions extends Abortable {
  /**
   * First byte, counted from the first ever written. Negative: that many before the end. Beyond the end: the end.
   * @default 0
   */
  readonly from?: number;
  /**
   * Goes on until the process has ended.
   * @default false
   */
  readonly follow?: boolean;
}

/** One stretch of output. */
export interface LogChunk {
  readonly bytes: Uint8Array;
  /** Where it begins. Larger than the end of the chunk before it when old output was dropped in between. */
  readonly offset: number;
}

export interface WatchOptions extends Abortable {
  /** A line that one of these matches is told. A string matches anywhere in the line. */
  readonly patterns: readonly (string | RegExp)[];
  /**
   * Where to begin; see `LogOptions`.
   * @default the current end
   */
  readonly from?: number;
  /**
   * At most this many matches per `periodMs`; the rest is counted and told with the next event.
   * @default 8
   */
  readonly maxMatches?: number;
  /** @default 10,000 */
  readonly periodMs?: number;
}

export type ProcessEvent =
  | {
      readonly kind: "match";
      readonly line: string;
      readonly pattern: string;
      readonly offset: number;
      /** Matches that the rate limit held back before this one. */
      readonly suppressed: number;
    }
  /** The last event. */
  | { readonly kind: "ended"; readonly status: ExitStatus; readonly suppressed: number };

/** A terminal, or a pipe, that reaches into a running process. */
export interface Attachment {
  /** Where the process takes no input, it has failed with `process-input-closed` from the beginning. */
  readonly input: Writable;
  resize(size: TerminalSize): void;
  /** A signal for its process group. */
  signal(name: string): void;
  /** Lets go; the process runs on. */
  detach(): void;
  /** Null after `detach`. Settles when all output has been taken. */
  readonly ended: Promise<ExitStatus | null>;
}

export interface AttachOptions {
  /** Sets the size of its pty. */
  readonly size?: TerminalSize;
  /** A returned promise holds the reader back, never the process. */
  onOutput(chunk: Uint8Array): void | Promise<void>;
}

/** The background processes of a sandbox. All of it works from any host process, also after the one that started them is gone. */
export interface Processes {
  /** @throws `process-limit` when 64 are running */
  start(command: Command, options?: ProcessOptions): Promise<ProcessInfo>;
  /** Oldest first; ended ones stay until 64 are remembered. */
  list(): Promise<ProcessInfo[]>;
  /** All of these @throws `process-not-found`. */
  get(id: string): Promise<ProcessInfo>;
  logs(id: string, options?: LogOptions): AsyncIterable<LogChunk>;
  watch(id: string, options: WatchOptions): AsyncIterable<ProcessEvent>;
  wait(id: string, options?: Abortable): Promise<ExitStatus>;
  /** Ends its whole tree: TERM, `graceMs` (default 2,000) to comply, then KILL. Also what an ended one left behind. */
  kill(id: string, options?: { graceMs?: number }): Promise<void>;
  /** @throws `process-ended` */
  signal(id: string, name: string): Promise<void>;
  /** Settles when the process has room for all of it. `end` closes its input afterwards. @throws `process-input-closed`, `process-ended` */
  write(id: string, bytes: string | Uint8Array, options?: { end?: boolean }): Promise<void>;
  attach(id: string, options: AttachOptions): Promise<Attachment>;
  /** Drops an ended one with its output. @throws `busy` while it runs */
  remove(id: string): Promise<void>;
}
