/** @module Work that only looks on: a signal, or a reader that goes away, ends the looking and nothing else. */
import { HoldfastError } from "../base/errors.ts";
import { onInterrupt } from "./interrupt.ts";
import type { Terminal } from "./render.ts";

/** The status of the work, or the one that belongs to the signal. */
export async function interruptible(terminal: Terminal, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const abort = new AbortController();
  terminal.onOutputLoss(() => abort.abort());
  using interrupt = onInterrupt({
    first() {
      abort.abort();
      terminal.abandonOutput();
    },
    second: () => {},
  });
  try {
    return await work(abort.signal);
  } catch (error) {
    const given = abort.signal.aborted && (error === abort.signal.reason || isAborted(error));
    if (!given) throw error;
    // Without a signal it was the reader, for which the program has a status of its own.
    return interrupt.exitStatus ?? 0;
  }
}

function isAborted(error: unknown): boolean {
  return (HoldfastError.isInstance(error) && error.code === "aborted") || (error instanceof Error && error.name === "AbortError");
}
