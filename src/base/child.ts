/** @module Programs of this machine as children of this process, none of which can end it by failing. */
import { spawn } from "node:child_process";

/**
 * As `spawn`. An error that nobody listens for would end this process, and there is always a moment at which nobody does: until a promise
 * goes on, between two reads, after the end. Whoever waits hears of it all the same.
 */
export const spawnChild: typeof spawn = (...args: unknown[]) => {
  const child = spawn(...(args as Parameters<typeof spawn>));
  // Without a free descriptor it has no streams.
  for (const part of [child, ...(child.stdio ?? [])]) part?.on("error", () => {});
  return child as never;
};
