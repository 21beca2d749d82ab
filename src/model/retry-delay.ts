/** @module How long an endpoint wants to be left alone. */

/** In milliseconds, from `Retry-After`: seconds, or a date. */
export function retryDelay(header: string | null, { otherwise, now }: { otherwise: number; now: number }): number {
  if (header === null || header.trim() === "") return otherwise;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? otherwise : Math.max(0, date - now);
}
