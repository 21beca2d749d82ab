/** @module Commands run by the daemon: their output within credit, their input within the daemon's, their end. */

import { constants } from "node:os";
import { Writable } from "node:stream";
import { HoldfastError } from "../../base/errors.ts";
import type { ExitStatus, OutputStream, SandboxProcess } from "../driver.ts";
import type { Channel, DaemonLink } from "./link.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import { createReader, createWriter, type Frame, protocolError } from "./wire.ts";

/** What may be under way from the daemon to us: enough to keep a pipe full, little enough to keep in memory. */
const OUTPUT_WINDOW = 512 * 1024;
const LONGEST_INPUT = 64 * 1024;
const STREAMS: Readonly<Record<number, OutputStream>> = { 1: "stdout", 2: "stderr" };
const FLAG_STDIN = 1;
const FLAG_MERGE = 2;

export interface DaemonCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: "none" | "pipe";
  readonly merge: boolean;
  /** Where the session's state is saved from descriptor 3; null: nowhere. */
  readonly stateFile: string | null;
  onOutput(chunk: Uint8Array, stream: OutputStream): void | Promise<void>;
}

export interface DaemonEnd extends ExitStatus {
  /** What the command wrote to descriptor 4. */
  readonly report: Buffer;
  /** Why the state was not saved; null when it was, or when there was none. */
  readonly unsaved: string | null;
}

export interface DaemonProcess extends SandboxProcess {
  readonly ended: Promise<DaemonEnd>;
}

export function startCall(link: DaemonLink, command: DaemonCommand): Promise<DaemonProcess> {
  const started = Promise.withResolvers<DaemonProcess>();
  const ended = Promise.withResolvers<DaemonEnd>();
  // Whoever holds the process awaits it; without this, a loss before the start would count as unhandled as well.
  ended.promise.catch(() => {});
  const output = createOutputQueue(command.onOutput, (bytes) => channel.send(FROM_CLIENT.credit, createWriter().u32(bytes).done()));
  let input: InputGate | undefined;
  let over = false;

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
      async kill({ graceMs }) {
        if (!over) channel.send(FROM_CLIENT.kill, createWriter().u32(graceMs).done());
        await ended.promise;
      },
    });
  };
  const onEnded = (payload: Buffer) => {
    over = true;
    input?.close();
    const end = readEnd(payload);
    // Not before the last chunk has been taken by the caller.
    output.drained().then(() => ended.resolve(end), ended.reject);
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
    onFrame({ type, payload }: Frame) {
      switch (type) {
        case FROM_DAEMON.started:
          onStarted(payload);
          return false;
        case FROM_DAEMON.output:
          output.add(payload);
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
      input?.close();
      started.reject(error);
      ended.reject(error);
    },
  });
  return started.promise;
}

function encodeStart({ argv, env, cwd, stdin, merge, stateFile }: DaemonCommand): Buffer {
  return createWriter()
    .u8(0)
    .u8((stdin === "pipe" ? FLAG_STDIN : 0) | (merge ? FLAG_MERGE : 0))
    .u32(0)
    .u32(2_000)
    .u32(OUTPUT_WINDOW)
    .u16(0)
    .u16(0)
    .u64(0)
    .str(cwd)
    .str(stateFile ?? "")
    .str("")
    .list(argv)
    .list(Object.entries(env).map(([name, value]) => `${name}=${value}`))
    .done();
}

function readEnd(payload: Buffer): DaemonEnd {
  const reader = createReader(payload);
  const code = reader.u8();
  const signal = reader.u8();
  reader.u8();
  const saved = reader.u8();
  const report = Buffer.from(reader.raw());
  const reason = reader.str();
  reader.end();
  return { exitCode: signal === 0 ? code : 128 + signal, signal: signalName(signal), report, unsaved: saved === 2 ? reason : null };
}

function signalName(number: number): string | null {
  if (number === 0) return null;
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
}

/** Hands chunks to the caller one after the other per stream, and grants the daemon what has been taken. */
function createOutputQueue(onOutput: DaemonCommand["onOutput"], grant: (bytes: number) => void) {
  const queues: Record<OutputStream, Promise<void> | undefined> = { stdout: undefined, stderr: undefined };
  let taken = 0;
  let underWay = 0;
  const take = (bytes: number) => {
    underWay -= bytes;
    taken += bytes;
    // In large pieces: a grant for each chunk would double the number of messages.
    if (taken < OUTPUT_WINDOW / 4) return;
    grant(taken);
    taken = 0;
  };
  return {
    add(payload: Buffer) {
      const stream = STREAMS[payload[0] ?? 0];
      if (stream === undefined) throw protocolError("output of an unknown stream");
      const chunk = payload.subarray(1);
      underWay += chunk.length;
      if (underWay > OUTPUT_WINDOW) throw protocolError("more output than it was allowed");
      const before = queues[stream];
      const pending = before === undefined ? onOutput(chunk, stream) : before.then(() => onOutput(chunk, stream));
      if (pending === undefined) return take(chunk.length);
      const done: Promise<void> = pending.then(() => {
        take(chunk.length);
        if (queues[stream] === done) queues[stream] = undefined;
      });
      queues[stream] = done;
    },
    async drained() {
      await Promise.all([queues.stdout, queues.stderr]);
    },
  };
}

interface InputGate {
  readonly stream: Writable;
  grant(bytes: number): void;
  close(): void;
}

/** A stream that sends no more than the daemon has room for. */
function createInputGate(channel: Channel, credit: number): InputGate {
  let left = credit;
  let waiting: (() => void) | undefined;
  const send = (chunk: Buffer, done: () => void): void => {
    const part = chunk.subarray(0, Math.min(left, LONGEST_INPUT));
    if (part.length > 0) channel.send(FROM_CLIENT.input, part);
    left -= part.length;
    const rest = chunk.subarray(part.length);
    if (rest.length === 0) done();
    else if (left > 0) send(rest, done);
    else waiting = () => send(rest, done);
  };
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => send(chunk, done),
    final(done) {
      channel.send(FROM_CLIENT.inputEnd);
      done();
    },
  });
  // A command that ends without reading its input is no error.
  stream.on("error", () => {});
  return {
    stream,
    grant(bytes) {
      left += bytes;
      const go = waiting;
      waiting = undefined;
      go?.();
    },
    close: () => void stream.destroy(),
  };
}
