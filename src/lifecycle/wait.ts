/** @module Waiting for teardown, but not for ever. */
import { type Clock, within } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Teardown } from "./teardown.ts";

/** How one piece of work ended within its limit: null when it succeeded, else what to say about it. */
export async function problemWithin(
  work: Promise<unknown>,
  options: { clock: Clock; limitMs: number; late: () => string },
): Promise<string | null> {
  const succeeded = work.then(() => null);
  return await within(succeeded, options).catch(describeError);
}

/** Resolves when no teardown is pending, also none that began meanwhile. */
export async function untilQuiet(teardown: Pick<Teardown, "pending">): Promise<void> {
  for (let pending = teardown.pending(); pending.length > 0; pending = teardown.pending()) {
    await Promise.allSettled(pending.map(({ done }) => done));
  }
}
