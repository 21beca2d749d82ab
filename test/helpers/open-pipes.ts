/** @module Counting the pipes that this process holds open. */
import { readdirSync, readlinkSync } from "node:fs";
import { systemCode } from "../../src/base/errors.ts";

export function openPipes(): number {
  return readdirSync("/proc/self/fd").filter((name) => /^pipe:|\/pipe-/.test(target(name))).length;
}

/** The lowest count within a while: an end that was given up is closed in one of the next turns of the event loop. */
export async function openPipesInTheEnd(expected: number): Promise<number> {
  for (let turn = 0; turn < 2000 && openPipes() > expected; turn++) await new Promise(setImmediate);
  return openPipes();
}

function target(name: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${name}`);
  } catch (error) {
    // The descriptor with which the directory was read is closed by now.
    if (systemCode(error) === "ENOENT") return "";
    throw error;
  }
}
