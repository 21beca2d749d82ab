/** @module Giving up on work that a signal has cancelled. */
import { HoldfastError } from "./errors.ts";

/** @throws `aborted`, saying `message`, when the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined, message: string): void {
  if (signal?.aborted) throw new HoldfastError("aborted", message, { cause: signal.reason });
}

/** Settles like `work`, or rejects with `aborted` as soon as the signal fires. The work itself goes on; its later failure is nobody's. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, message: string): Promise<T> {
  if (signal === undefined) return work;
  const { promise: given, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(new HoldfastError("aborted", message, { cause: signal.reason }));
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([given, work]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** Resolves when the signal fires, at once if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
