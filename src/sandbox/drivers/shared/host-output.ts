/** @module Reading a child's output with back-pressure, up to its end and not beyond. */
import { Socket } from "node:net";
import type { HostPipe } from "./host-pipes.ts";

// A pipe holds at most this much, so whatever comes beyond it was written after the end.
const PIPE_CAPACITY = 1024 * 1024;
const READ_SIZE = 64 * 1024;

export interface OutputReader {
  /** Resolves when all that was written before the call has been delivered; from then on output is discarded. */
  finish(): Promise<void>;
  /** Drops what was not delivered yet; a delivery that is under way no longer holds up `finish`. */
  abandon(): void;
}

/**
 * One buffer serves all reads of a pipe: a new one for each would be garbage faster than it is collected. So a chunk is only valid until
 * `deliver` returns, or until its promise settles.
 */
export function readOutput(pipe: HostPipe, deliver: (chunk: Uint8Array) => void | Promise<void>): OutputReader {
  let delivering: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;
  let closed = false;
  let received = 0;
  let discarding = false;
  const abandoned = Promise.withResolvers<void>();

  /** False holds the socket back until `resume`. */
  const onRead = (length: number, buffer: Uint8Array): boolean => {
    received += length;
    if (discarding || failure) return true;
    try {
      const pending = deliver(buffer.subarray(0, length));
      if (pending === undefined) return true;
      delivering = pending
        .catch((error: unknown) => {
          failure = { error };
        })
        .then(() => {
          delivering = undefined;
          socket.resume();
        });
      return false;
    } catch (error) {
      failure = { error };
      return true;
    }
  };
  const socket = new Socket({
    fd: pipe.ours,
    readable: true,
    writable: false,
    onread: { buffer: Buffer.allocUnsafeSlow(READ_SIZE), callback: onRead },
  });
  socket.once("close", () => {
    closed = true;
  });
  // A pipe that breaks shows as the end of output, which is what it is.
  socket.on("error", () => socket.destroy());
  socket.resume();

  return {
    async finish() {
      const before = received;
      let quietTurns = 0;
      // What was written before the end is readable at once. Two turns of the event loop without a byte mean that the pipe is empty.
      while (!closed && !discarding && quietTurns < 2 && received - before < PIPE_CAPACITY) {
        const seen = received;
        await Promise.race([delivering, abandoned.promise]);
        await new Promise(setImmediate);
        quietTurns = received === seen && delivering === undefined ? quietTurns + 1 : 0;
      }
      await Promise.race([delivering, abandoned.promise]);
      discarding = true;
      // Read on without keeping this process alive: closing the pipe would kill a background process at its next word.
      socket.unref();
      if (failure) throw failure.error;
    },
    abandon() {
      discarding = true;
      abandoned.resolve();
      // Reading on would overwrite the chunk that somebody still holds.
      socket.destroy();
    },
  };
}
