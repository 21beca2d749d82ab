/** @module Giving a command its input. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type HoldfastError, systemCode, wrapError } from "../base/errors.ts";
import type { CallOptions } from "./call.ts";
import type { SandboxProcess } from "./driver.ts";

/**
 * From now until disposed, a stream that fails does not take the whole program with it: nobody else may be listening before `feed` does.
 */
export function guardInput(input: CallOptions["stdin"]): Disposable {
  const nothing = () => {};
  if (input instanceof Readable) input.on("error", nothing);
  return {
    [Symbol.dispose]() {
      if (input instanceof Readable) input.off("error", nothing);
    },
  };
}

/** @throws `invalid-input` when a stream has failed already */
export function throwIfInputFailed(input: CallOptions["stdin"]): void {
  if (input instanceof Readable && input.errored) throw inputFailed(input.errored);
}

/**
 * Settles when all input was handed over or nobody reads any more of it.
 * @throws `invalid-input` when a stream fails or breaks off
 */
export async function feed({ stdin, ended }: SandboxProcess, input: CallOptions["stdin"]): Promise<void> {
  // A command that has ended already reads nothing.
  if (stdin === null || input === undefined || stdin.destroyed) return;
  if (!(input instanceof Readable)) {
    stdin.end(input);
    return;
  }
  const over = new AbortController();
  const stop = () => over.abort();
  ended.then(stop, stop);
  let readerLeft = false;
  stdin.once("close", () => {
    readerLeft = !input.closed || input.readableEnded;
  });
  try {
    await pipeline(input, stdin, { signal: over.signal });
  } catch (error) {
    // The command ended or closed its input before the stream did. A stream that closes before its end looks alike, but is a failure.
    if (over.signal.aborted || systemCode(error) === "EPIPE" || readerLeft) return;
    throw inputFailed(error);
  }
}

function inputFailed(error: unknown): HoldfastError {
  return wrapError(error, "invalid-input", "the stream of input for the command failed");
}
