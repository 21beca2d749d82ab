/** @module Pipes made in advance, because making them costs a process. */
import { HoldfastError } from "../../../base/errors.ts";
import { createOutputPipes, discardHostPipe, type HostPipe } from "./host-pipes.ts";

// A single call should not wait for pipes it will never use, a busy connection should hardly ever wait.
const FIRST_BATCH = 2;
const LARGEST_BATCH = 16;

export interface PipePool {
  /**
   * `count` pipes for the output of a child.
   * @throws `closed` after `close`
   */
  take(count: number): Promise<HostPipe[]>;
  close(): Promise<void>;
}

export function createPipePool(directory: string): PipePool {
  const ready: HostPipe[] = [];
  let batch = FIRST_BATCH;
  let refilling: Promise<void> | undefined;
  let closed = false;

  const refill = (): Promise<void> => {
    refilling ??= createOutputPipes(directory, batch).then(
      (made) => {
        refilling = undefined;
        batch = Math.min(batch * 4, LARGEST_BATCH);
        ready.push(...made);
        if (closed) discardAll();
      },
      (error: unknown) => {
        refilling = undefined;
        throw error;
      },
    );
    return refilling;
  };
  const discardAll = () => {
    for (const pipe of ready.splice(0)) discardHostPipe(pipe);
  };

  return {
    async take(count) {
      while (!closed && ready.length < count) await refill();
      if (closed) throw new HoldfastError("closed", "the connection to the sandbox was closed, so nothing was started in it");
      return ready.splice(0, count);
    },
    async close() {
      closed = true;
      // A failed refill has been reported to whoever waited for it.
      await refilling?.catch(() => {});
      discardAll();
    },
  };
}
