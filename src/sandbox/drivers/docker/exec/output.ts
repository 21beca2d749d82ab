/** @module The output of a program that was started by an `exec`, taken out of the stream of the engine's client. */
import type { Readable } from "node:stream";
import { systemCode } from "../../../../base/errors.ts";
import type { OutputStream, SpawnOptions } from "../../../driver.ts";
import { splitFrames } from "./frames.ts";

const LONGEST_MESSAGE = 4_000;

/** What a stream said up to its end. */
export interface Heard {
  /** Null: it ended before the program did. */
  readonly status: number | null;
  /** What came before the program began: words of the client or the engine. */
  readonly before: string;
}

interface FollowOptions {
  readonly token: string;
  onHead(text: string): void;
  take(chunk: Uint8Array): Promise<void>;
}

export async function followStream(stream: Readable, { token, onHead, take }: FollowOptions): Promise<Heard> {
  let before = "";
  let begun = false;
  try {
    for await (const piece of splitFrames(stream, token)) {
      if (typeof piece !== "string") {
        if (begun) await take(piece);
        else before = (before + Buffer.from(piece).toString("utf8")).slice(-LONGEST_MESSAGE);
      } else if (piece.startsWith("=")) {
        return { status: Number(piece.slice(1)), before };
      } else {
        begun = true;
        onHead(piece);
      }
    }
  } catch (error) {
    // A pipe to the client that breaks is the end of what it says.
    if (systemCode(error) === undefined) throw error;
  }
  return { status: null, before };
}

/** Hands chunks on, one after the other for each stream. After a failure, or when nobody waits for them any more, they are dropped. */
export function createTaker(onOutput: SpawnOptions["onOutput"]) {
  const over = Promise.withResolvers<void>();
  let dropping = false;
  let failed: { readonly error: unknown } | undefined;
  return {
    async take(chunk: Uint8Array, stream: OutputStream): Promise<void> {
      if (dropping) return;
      try {
        await Promise.race([onOutput(chunk, stream), over.promise]);
      } catch (error) {
        failed ??= { error };
        dropping = true;
      }
    },
    abandon() {
      dropping = true;
      over.resolve();
    },
    throwIfFailed() {
      if (failed) throw failed.error;
    },
  };
}
