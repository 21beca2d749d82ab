/** @module One foreground command in a session: what it takes and what comes back. */
import type { Readable } from "node:stream";
import type { OutputStream } from "./driver.ts";
import type { TerminalSize } from "./process.ts";

/** Shell text, or an argument list that is run as it is. */
export type Command = string | readonly string[];

export interface CallOptions {
  /**
   * Which shell state the command sees and leaves behind.
   * @default "default"
   */
  readonly session?: string;
  /**
   * Milliseconds until the whole tree of processes is ended.
   * @default the configured `terminal.timeout`
   */
  readonly timeoutMs?: number;
  /** Directory for this call only; relative to the session's. */
  readonly cwd?: string;
  /** Variables for this call only; they win over the session's. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * What the command reads.
   * @default nothing: end of file at once
   */
  readonly stdin?: string | Uint8Array | Readable;
  /**
   * One pipe for both streams, which keeps their exact order; then `stderr` of the result is empty.
   * Otherwise `output` has the chunks of both in the order of their arrival.
   * @default false
   */
  readonly merge?: boolean;
  /**
   * False: no file with the whole output is kept when that is too long for the result. For callers who have it from `onOutput` anyway.
   * @default true
   */
  readonly overflowFile?: boolean;
  /** Sees every byte as it comes, without limit. A returned promise holds the command back. */
  readonly onOutput?: (chunk: Uint8Array, stream: OutputStream) => void | Promise<void>;
  /**
   * A pty of this size instead of pipes: then everything the command prints is `stdout`.
   * @throws `daemon-missing` where holdfastd does not run
   */
  readonly tty?: TerminalSize;
  /** Called once the command runs. */
  readonly onStart?: (control: CallControl) => void;
  /** Ends the call like Ctrl-C: the tree dies, the result says `interrupted`. */
  readonly signal?: AbortSignal;
}

export interface CallControl {
  /** Of the pty. */
  resize(size: TerminalSize): void;
}

export interface CallResult {
  /** 124 after a timeout, 130 after an interrupt. */
  readonly exitCode: number;
  /** The signal that ended the shell, if one did. */
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly interrupted: boolean;
  /** Directory the session is in after the call. */
  readonly cwd: string;
  /** Set when the session's directory was gone and a parent was used instead. */
  readonly cwdRecovered: { readonly from: string; readonly to: string } | null;
  /** Both streams, in order, within the configured limit. */
  readonly output: string;
  readonly stdout: string;
  readonly stderr: string;
  /** Something is missing in `output`, `stdout` or `stderr`; a marker says where and how much. */
  readonly truncated: boolean;
  /** Bytes the command wrote in all. */
  readonly outputBytes: number;
  /** File on the host with the whole output, when it was truncated. */
  readonly outputFile: string | null;
  readonly durationMs: number;
  readonly session: string;
  /** Set when the sandbox was gone and a new one was made for this call; `lost` says what is not there any more. */
  readonly replaced: { readonly lost: readonly string[] } | null;
  /** The sandbox had stopped without being asked to, and was started for this call: its background processes are gone. */
  readonly restarted: boolean;
  /** What a person should know although the command ran: state that could not be saved, a login shell that failed. */
  readonly warnings: readonly string[];
}
