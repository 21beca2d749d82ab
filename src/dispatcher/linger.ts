/** @module How long a worker that has said its last word may take to go by itself: its supervisor and its successors count the same. */

export const LINGER_MS = 30_000;
