/** @module Identifiers and digests. */
import { closeSync, openSync, readSync } from "node:fs";

/**
 * A random lower-case hexadecimal identifier, unguessable at the default length. Straight from the kernel: loading node:crypto for it would
 * cost every start of the program several milliseconds.
 */
export function randomId(bytes = 16): string {
  const buffer = Buffer.alloc(bytes);
  const source = openSync("/dev/urandom", "r");
  try {
    readSync(source, buffer);
  } finally {
    closeSync(source);
  }
  return buffer.toString("hex");
}

/** The first `length` hexadecimal digits of the SHA-256 of `text`. */
export function digest(text: string, length = 64): string {
  // Loaded when it is first needed, for the same reason.
  const crypto = process.getBuiltinModule("node:crypto");
  return crypto.createHash("sha256").update(text).digest("hex").slice(0, length);
}
