/** @module How much a copy of a tree may hold. */
import { HoldfastError } from "../../base/errors.ts";
import type { TreeOptions, TreeResult } from "../files.ts";

export const MAX_BYTES = 4 * 1024 ** 3;
export const MAX_ENTRIES = 100_000;

export interface TreeCount {
  /** @throws `too-large` */
  entry(path: string): void;
  /** @throws `too-large` */
  file(path: string, size: number): void;
  skip(path: string, reason: string): void;
  result(): TreeResult;
}

export function createTreeCount({ maxBytes = MAX_BYTES, maxEntries = MAX_ENTRIES }: TreeOptions): TreeCount {
  const skipped: { path: string; reason: string }[] = [];
  let seen = 0;
  let bytes = 0;
  return {
    entry(path) {
      seen++;
      if (seen > maxEntries) throw tooLarge(`the tree has more than ${maxEntries} entries`, { path, maxEntries });
    },
    file(path, size) {
      bytes += size;
      if (bytes > maxBytes) throw tooLarge(`the tree has more than ${maxBytes} bytes`, { path, maxBytes });
    },
    skip: (path, reason) => void skipped.push({ path, reason }),
    result: () => ({ entries: seen - skipped.length, bytes, skipped }),
  };
}

export function tooLarge(message: string, facts: Record<string, unknown>): HoldfastError {
  return new HoldfastError("too-large", message, { facts });
}
