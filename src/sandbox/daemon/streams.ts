/** @module The two directions of a channel: output within our credit, input within the daemon's. */
import { Writable } from "node:stream";
import type { OutputStream } from "../driver.ts";
import type { Channel } from "./link.ts";
import { FROM_CLIENT } from "./types.ts";
import { createWriter, type Frame, freeFrame, protocolError } from "./wire.ts";

/** What may be under way from the daemon to us: enough to keep a pipe full, little enough to keep in memory. */
export const OUTPUT_WINDOW = 512 * 1024;
const LONGEST_INPUT = 64 * 1024;
const STREAMS: Readonly<Record<number, OutputStream>> = { 1: "stdout", 2: "stderr" };

type TakeOutput = (chunk: Uint8Array, stream: OutputStream) => void | Promise<void>;

export interface OutputQueue {
  /** An OUTPUT frame, which is freed once it was taken. */
  add(frame: Frame): void;
  /** Settles when everything was taken. @throws what the taker threw */
  drained(): Promise<void>;
  /** Drops whatever is not taken yet, and all that still comes. */
  abandon(): void;
}

/** Hands chunks to the caller one after the other per stream, and grants the daemon what has been taken. */
export function createOutputQueue(onOutput: TakeOutput, channel: () => Channel): OutputQueue {
  const credit = createOutputCredit(channel);
  const queues: Record<OutputStream, Promise<void> | undefined> = { stdout: undefined, stderr: undefined };
  const giveUp = new Set<() => void>();
  let dropping = false;
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown) => {
    failure ??= { error };
    dropping = true;
  };
  const deliver: TakeOutput = (chunk, stream) => {
    if (dropping) return undefined;
    try {
      return onOutput(chunk, stream)?.catch(fail);
    } catch (error) {
      fail(error);
      return undefined;
    }
  };
  return {
    add(frame) {
      const { payload } = frame;
      const stream = STREAMS[payload[0] ?? 0];
      if (stream === undefined) throw protocolError("output of an unknown stream");
      const chunk = payload.subarray(1);
      credit.received(chunk.length);
      const before = queues[stream];
      const pending = before === undefined ? deliver(chunk, stream) : before.then(() => deliver(chunk, stream));
      if (pending === undefined) {
        freeFrame(frame);
        return credit.taken(chunk.length);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      giveUp.add(resolve);
      void pending.then(() => {
        giveUp.delete(resolve);
        freeFrame(frame);
        resolve();
      });
      const done: Promise<void> = promise.then(() => {
        credit.taken(chunk.length);
        if (queues[stream] === done) queues[stream] = undefined;
      });
      queues[stream] = done;
    },
    async drained() {
      await Promise.all([queues.stdout, queues.stderr]);
      if (failure) throw failure.error;
    },
    abandon() {
      dropping = true;
      for (const resolve of giveUp) resolve();
    },
  };
}

export interface OutputCredit {
  /** @throws `protocol` when it is more than the daemon was granted */
  received(bytes: number): void;
  /** The daemon is granted as much again. */
  taken(bytes: number): void;
}

/** Counts on from the `OUTPUT_WINDOW` that the daemon was granted with the request. */
export function createOutputCredit(channel: () => Channel): OutputCredit {
  let underWay = 0;
  let ungranted = 0;
  return {
    received(bytes) {
      underWay += bytes;
      if (underWay > OUTPUT_WINDOW) throw protocolError("more output than it was allowed");
    },
    taken(bytes) {
      underWay -= bytes;
      ungranted += bytes;
      // In large pieces: a grant for each chunk would double the number of messages.
      if (ungranted < OUTPUT_WINDOW / 4) return;
      channel().send(FROM_CLIENT.credit, createWriter().u32(ungranted).done());
      ungranted = 0;
    },
  };
}

export interface InputGate {
  readonly stream: Writable;
  grant(bytes: number): void;
  close(): void;
}

/** A stream that sends no more than the daemon has room for. */
export function createInputGate(channel: Channel, credit: number): InputGate {
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
