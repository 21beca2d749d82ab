/** @module Reading a child's output with back-pressure, up to its end and not beyond. */
import type { Socket } from "node:net";

// A pipe holds at most this much, so whatever comes beyond it was written after the end.
const PIPE_CAPACITY = 1024 * 1024;

export interface OutputReader {
  /** Resolves when all that was written before the call has been delivered; from then on output is discarded. */
  finish(): Promise<void>;
}

export function readOutput(socket: Socket, deliver: (chunk: Uint8Array) => void | Promise<void>): OutputReader {
  let delivering: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;
  let closed = false;
  let received = 0;
  let discarding = false;
  socket.once("close", () => {
    closed = true;
  });
  // A pipe that breaks shows as the end of output, which is what it is.
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    received += chunk.length;
    if (discarding || failure) return;
    try {
      const pending = deliver(chunk);
      if (pending === undefined) return;
      socket.pause();
      delivering = pending
        .catch((error: unknown) => {
          failure = { error };
        })
        .then(() => {
          delivering = undefined;
          socket.resume();
        });
    } catch (error) {
      failure = { error };
    }
  });

  return {
    async finish() {
      const before = received;
      let quietTurns = 0;
      // What was written before the end is readable at once. Two turns of the event loop without a byte mean that the pipe is empty.
      while (!closed && quietTurns < 2 && received - before < PIPE_CAPACITY) {
        const seen = received;
        await delivering;
        await new Promise(setImmediate);
        quietTurns = received === seen && delivering === undefined ? quietTurns + 1 : 0;
      }
      await delivering;
      discarding = true;
      // Read on without keeping this process alive: closing the pipe would kill a background process at its next word.
      socket.unref();
      if (failure) throw failure.error;
    },
  };
}
