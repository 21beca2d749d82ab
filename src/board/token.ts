/** @module Random ids and tokens, many at a time: asking the kernel for each would cost more than the rest of a claim. */
import { hash, randomBytes } from "node:crypto";

const POOL_BYTES = 8192;
const TOKEN_BYTES = 16;

export function newTaskId(): string {
  return `t_${randomHex(4)}`;
}

export function newToken(): string {
  return randomHex(TOKEN_BYTES);
}

export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

let pool = Buffer.alloc(0);
let used = 0;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  used += bytes;
  return pool.toString("hex", used - bytes, used);
}
