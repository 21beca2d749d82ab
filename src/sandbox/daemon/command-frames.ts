/** @module The frames about a command, be it a call or a process: its start, its size on a terminal, its end. */
import { constants } from "node:os";
import { HoldfastError } from "../../base/errors.ts";
import type { ExitStatus } from "../driver.ts";
import type { TerminalSize } from "../process.ts";
import { OUTPUT_WINDOW } from "./streams.ts";
import { createReader, createWriter, LONGEST_PAYLOAD } from "./wire.ts";

const FLAG_STDIN = 1;
const FLAG_MERGE = 2;
const FLAG_PTY = 4;
const FLAG_INHERIT = 8;
const KIND_CALL = 0;
const KIND_PROCESS = 1;
const CAUSE_TIMEOUT = 1;
export const CAUSE_KILLED = 2;
/** Longer than anyone waits; what the protocol and our own timers can hold. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;
const GRACE_MS = 2_000;
const LONGEST_SHOWN = 4_096;

export interface CommandStart {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Adds `env` to the daemon's own environment, instead of replacing that. */
  readonly inherit?: boolean;
  readonly cwd: string;
  readonly stdin: "none" | "pipe";
  readonly merge: boolean;
  /** What people are told that runs. */
  readonly shown: string;
  /** The daemon itself ends the tree after that long, whatever becomes of us. 0: never. */
  readonly timeoutMs?: number;
  /** A pty of this size instead of pipes. */
  readonly tty?: TerminalSize;
  /** Where the session's state is saved from descriptor 3; null: nowhere. */
  readonly stateFile: string | null;
}

/** What the rest of START says about a process, as opposed to a call. */
export interface ProcessStart {
  readonly name: string;
  readonly keepBytes: number;
}

export interface DaemonEnd extends ExitStatus {
  /** What the command wrote to descriptor 4. */
  readonly report: Buffer;
  /** A state came, and was saved. */
  readonly saved: boolean;
  /** Why the state was not saved; null when it was, or when there was none. */
  readonly unsaved: string | null;
  /** Why it ended, by the numbers of the protocol. */
  readonly cause: number;
  /** The daemon ended it because of `timeoutMs`. */
  readonly timedOut: boolean;
}

export function encodeStart(command: CommandStart, process?: ProcessStart): Buffer {
  const { argv, env, inherit = false, cwd, stdin, merge, shown, timeoutMs = 0, tty, stateFile } = command;
  const payload = createWriter()
    .u8(process ? KIND_PROCESS : KIND_CALL)
    .u8((stdin === "pipe" ? FLAG_STDIN : 0) | (merge ? FLAG_MERGE : 0) | (tty ? FLAG_PTY : 0) | (inherit ? FLAG_INHERIT : 0))
    .u32(Math.min(timeoutMs, LONGEST_TIMEOUT_MS))
    .u32(GRACE_MS)
    .u32(OUTPUT_WINDOW)
    .bytes(encodeSize(tty))
    .u64(process?.keepBytes ?? 0)
    .str(cwd)
    .str(stateFile ?? "")
    .str(process?.name ?? "")
    .str(Buffer.from(shown).subarray(0, LONGEST_SHOWN))
    .list(argv)
    .list(Object.entries(env).map(([name, value]) => `${name}=${value}`))
    .done();
  if (payload.length <= LONGEST_PAYLOAD) return payload;
  throw new HoldfastError("spawn-failed", `arguments and variables of ${payload.length} bytes are more than a command can be given`, {
    hint: "hand over large data in a file, or through standard input",
    facts: { bytes: payload.length, limit: LONGEST_PAYLOAD },
  });
}

/** The payload of RESIZE, and a part of others; zeros without a size. */
export function encodeSize({ rows, columns }: TerminalSize = { rows: 0, columns: 0 }): Buffer {
  return createWriter().u16(rows).u16(columns).done();
}

/** The payload of STARTED; the id of a call is empty. */
export function readStarted(payload: Buffer): { pid: number; credit: number; id: string } {
  const reader = createReader(payload);
  const started = { pid: reader.u32(), credit: reader.u32(), id: reader.str() };
  reader.end();
  return started;
}

/** The payload of ENDED. */
export function readEnd(payload: Buffer): DaemonEnd {
  const reader = createReader(payload);
  const code = reader.u8();
  const signal = reader.u8();
  const cause = reader.u8();
  const saved = reader.u8();
  const report = Buffer.from(reader.raw());
  const reason = reader.str();
  reader.end();
  return {
    ...exitStatus(code, signal),
    report,
    saved: saved === 1,
    unsaved: saved === 2 ? reason : null,
    cause,
    timedOut: cause === CAUSE_TIMEOUT,
  };
}

/** As a shell counts it. `signal` 0: it ended by itself. */
export function exitStatus(code: number, signal: number): ExitStatus {
  if (signal === 0) return { exitCode: code, signal: null };
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return { exitCode: 128 + signal, signal: name ?? `SIG${signal}` };
}
