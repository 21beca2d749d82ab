/** @module Commands run by the daemon: their output within credit, their input within the daemon's, their end. */

import { constants } from "node:os";
import { HoldfastError } from "../../base/errors.ts";
import type { ExitStatus, OutputStream, SandboxProcess } from "../driver.ts";
import type { TerminalSize } from "../process.ts";
import type { Channel, DaemonLink } from "./link.ts";
import { createInputGate, createOutputQueue, type InputGate, OUTPUT_WINDOW } from "./streams.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import { createReader, createWriter, type Frame, LONGEST_PAYLOAD, protocolError } from "./wire.ts";

const FLAG_STDIN = 1;
const FLAG_MERGE = 2;
const FLAG_PTY = 4;
const FLAG_INHERIT = 8;
const KIND_CALL = 0;
const KIND_PROCESS = 1;
const CAUSE_TIMEOUT = 1;
const CAUSE_KILLED = 2;
/** Longer than anyone waits; what the protocol and our own timers can hold. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;
const GRACE_MS = 2_000;
/** How long the taker of the output may still take after a kill. */
const TAKER_LIMIT_MS = 2_000;
const KILL_LIMIT_MS = 10_000;
const LONGEST_SHOWN = 4_096;

export interface DaemonCommand {
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
  onOutput(chunk: Uint8Array, stream: OutputStream): void | Promise<void>;
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

export interface DaemonProcess extends SandboxProcess {
  readonly ended: Promise<DaemonEnd>;
  resize(size: TerminalSize): void;
}

export function startCall(link: DaemonLink, command: DaemonCommand): Promise<DaemonProcess> {
  const started = Promise.withResolvers<DaemonProcess>();
  const ended = Promise.withResolvers<DaemonEnd>();
  // Whoever holds the process awaits it; without this, a loss before the start would count as unhandled as well.
  ended.promise.catch(() => {});
  const gone = Promise.withResolvers<void>();
  const output = createOutputQueue(command.onOutput, (bytes) => channel.send(FROM_CLIENT.credit, createWriter().u32(bytes).done()));
  let input: InputGate | undefined;
  let over = false;
  let killed = false;

  const onStarted = (payload: Buffer) => {
    const reader = createReader(payload);
    const pid = reader.u32();
    const credit = reader.u32();
    reader.str();
    reader.end();
    input = command.stdin === "pipe" ? createInputGate(channel, credit) : undefined;
    started.resolve({
      pid,
      stdin: input?.stream ?? null,
      ended: ended.promise,
      resize: ({ rows, columns }) => channel.send(FROM_CLIENT.resize, createWriter().u16(rows).u16(columns).done()),
      kill: ({ graceMs }) => kill(graceMs),
    });
  };
  const kill = async (graceMs: number) => {
    if (over) return;
    killed = true;
    channel.send(FROM_CLIENT.kill, createWriter().u32(graceMs).done());
    // The end is only told once the output before it has been, so a taker that takes nothing would hold it up.
    const taker = link.clock.after(graceMs + TAKER_LIMIT_MS, () => output.abandon());
    const cancelTaker = () => taker.cancel();
    ended.promise.then(cancelTaker, cancelTaker);
    const answer = link.clock.after(graceMs + KILL_LIMIT_MS, () => link.abandon("it did not end a command in time"));
    await gone.promise;
    answer.cancel();
  };
  const onEnded = (payload: Buffer) => {
    over = true;
    gone.resolve();
    input?.close();
    const end = readEnd(payload);
    // Somebody else had the daemon stopped, and everything in the sandbox with it.
    const stopped = end.cause === CAUSE_KILLED && !killed;
    // Not before the last chunk has been taken by the caller.
    output.drained().then(() => (stopped ? ended.reject(daemonStopped()) : ended.resolve(end)), ended.reject);
  };
  const onFailed = (payload: Buffer) => {
    const reader = createReader(payload);
    const errno = reader.u32();
    const message = reader.str();
    reader.end();
    over = true;
    started.reject(
      new HoldfastError("spawn-failed", `the daemon cannot start ${command.argv[0]}: ${message}`, {
        facts: { program: command.argv[0], errno },
      }),
    );
  };
  const channel: Channel = link.open(FROM_CLIENT.start, encodeStart(command), {
    onFrame(frame: Frame) {
      const { type, payload } = frame;
      switch (type) {
        case FROM_DAEMON.started:
          onStarted(payload);
          return false;
        case FROM_DAEMON.output:
          output.add(frame);
          return false;
        case FROM_DAEMON.inputCredit:
          input?.grant(createReader(payload).u32());
          return false;
        case FROM_DAEMON.ended:
          onEnded(payload);
          return true;
        case FROM_DAEMON.failed:
          onFailed(payload);
          return true;
        default:
          throw protocolError(`a message of kind ${type} for a call`);
      }
    },
    onLost(error) {
      over = true;
      gone.resolve();
      input?.close();
      started.reject(error);
      ended.reject(error);
    },
  });
  return started.promise;
}

/** What the rest of START says about a process, as opposed to a call. */
export interface ProcessStart {
  readonly name: string;
  readonly keepBytes: number;
}

export function encodeStart(command: DaemonCommand, process?: ProcessStart): Buffer {
  const { argv, env, inherit = false, cwd, stdin, merge, shown, timeoutMs = 0, tty, stateFile } = command;
  const payload = createWriter()
    .u8(process ? KIND_PROCESS : KIND_CALL)
    .u8((stdin === "pipe" ? FLAG_STDIN : 0) | (merge ? FLAG_MERGE : 0) | (tty ? FLAG_PTY : 0) | (inherit ? FLAG_INHERIT : 0))
    .u32(Math.min(timeoutMs, LONGEST_TIMEOUT_MS))
    .u32(GRACE_MS)
    .u32(OUTPUT_WINDOW)
    .u16(tty?.rows ?? 0)
    .u16(tty?.columns ?? 0)
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

function daemonStopped(): HoldfastError {
  return new HoldfastError("sandbox-lost", "the sandbox was stopped while the command ran", { facts: { mayHaveRun: true } });
}

/** The payload of ENDED, also of a process. */
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
    exitCode: signal === 0 ? code : 128 + signal,
    signal: signalName(signal),
    report,
    saved: saved === 1,
    unsaved: saved === 2 ? reason : null,
    cause,
    timedOut: cause === CAUSE_TIMEOUT,
  };
}

export function signalName(number: number): string | null {
  if (number === 0) return null;
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
}
