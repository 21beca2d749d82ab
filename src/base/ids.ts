/** @module Identifiers, secrets and digests. */
import { closeSync, openSync, readSync } from "node:fs";
import { sha256 } from "./sha256.ts";

/** Straight from the kernel: loading node:crypto for it would cost every start of the program several milliseconds. */
export function randomBytes(count: number): Buffer {
  const buffer = Buffer.alloc(count);
  const source = openSync("/dev/urandom", "r");
  try {
    readSync(source, buffer);
  } finally {
    closeSync(source);
  }
  return buffer;
}

/** A random lower-case hexadecimal identifier, unguessable at the default length. */
export function randomId(bytes = 16): string {
  return randomBytes(bytes).toString("hex");
}

/** The first `length` hexadecimal digits of the SHA-256 of `text`. */
export function digest(text: string, length = 64): string {
  return sha256(text).toString("hex").slice(0, length);
}
