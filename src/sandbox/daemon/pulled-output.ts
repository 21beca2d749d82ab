/** @module Output of a request that its taker pulls: the daemon is granted what was taken, and sends no more than that. */
import { throwIfAborted } from "../../base/abort.ts";
import type { ExitStatus } from "../driver.ts";
import { readEnd } from "./command-frames.ts";
import type { DaemonLink } from "./link.ts";
import { openRequest, type RequestOptions, readOpened, unexpected } from "./requests.ts";
import { createOutputCredit } from "./streams.ts";
import { FROM_DAEMON } from "./types.ts";
import { type Frame, freeFrame, protocolError } from "./wire.ts";

export interface OutputChunk {
  readonly bytes: Buffer;
  /** Counted on from the offset that the daemon has told last. */
  readonly offset: number;
}

export interface PulledOutput {
  /** The offset that the daemon told first. */
  readonly opened: Promise<number>;
  /** Null at the end. */
  next(): Promise<OutputChunk | null>;
  /** Drops what was not taken, and asks the daemon to let go. Harmless after the end. */
  detach(): void;
  /** Settles when the daemon has let go. Null, unless a process has ended. */
  readonly ended: Promise<ExitStatus | null>;
}

/** `payload` ends with the grant of `OUTPUT_WINDOW`. */
export function pullOutput(link: DaemonLink, type: number, payload: Uint8Array, options: Omit<RequestOptions, "onFrame">): PulledOutput {
  const { promise: opened, resolve: open, reject: refuse } = Promise.withResolvers<number>();
  opened.catch(() => {});
  const waiting: OutputChunk[] = [];
  const credit = createOutputCredit(() => channel);
  let status: ExitStatus | null = null;
  let position = 0;
  let over: { readonly error?: unknown } | undefined;
  let wake: (() => void) | undefined;

  const add = (frame: Frame) => {
    // A copy: whoever takes a few bytes may keep them for long, and must not keep the memory of many frames with them.
    const bytes = Buffer.from(frame.payload.subarray(1));
    freeFrame(frame);
    if (bytes.length === 0) return;
    credit.received(bytes.length);
    waiting.push({ bytes, offset: position });
    position += bytes.length;
    wake?.();
  };
  const { channel, done, detach } = openRequest(link, type, payload, {
    ...options,
    onFrame(frame) {
      switch (frame.type) {
        case FROM_DAEMON.opened:
          position = readOpened(frame.payload).offset;
          open(position);
          return false;
        case FROM_DAEMON.output:
          add(frame);
          return false;
        case FROM_DAEMON.ended:
          status = readEnd(frame.payload);
          return true;
        default:
          return unexpected(frame);
      }
    },
  });
  const finish = (error?: unknown) => {
    over ??= { error };
    refuse(error ?? protocolError("an end before the beginning"));
    wake?.();
  };
  const ended = done.then(
    () => {
      finish();
      return status;
    },
    (error: unknown) => {
      finish(error);
      throw error;
    },
  );
  ended.catch(() => {});
  return {
    opened,
    ended,
    async next() {
      for (;;) {
        // Whoever has given up must not take the beginning for the whole.
        if (waiting.length > 0) throwIfAborted(options.signal, `cannot ${options.what}: it was cancelled`);
        const chunk = waiting.shift();
        if (chunk) {
          credit.taken(chunk.bytes.length);
          return chunk;
        }
        if (over) {
          if (over.error !== undefined) throw over.error;
          return null;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    detach() {
      waiting.length = 0;
      detach();
    },
  };
}
