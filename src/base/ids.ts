/** @module Identifiers and digests. */
import { createHash, randomBytes } from "node:crypto";

/** A random lower-case hexadecimal identifier, unguessable at the default length. */
export function randomId(bytes = 16): string {
  return randomBytes(bytes).toString("hex");
}

/** The first `length` hexadecimal digits of the SHA-256 of `text`. */
export function digest(text: string, length = 64): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}
