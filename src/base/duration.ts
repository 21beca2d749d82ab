/** @module Lengths of time as people write them: `90`, `30m`, `1h30m`, `2d`. */
import { checkInput, TEXT } from "./check-input.ts";
import { HoldfastError } from "./errors.ts";

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const PART = /(\d+(?:\.\d+)?)([smhdw])/g;
/** A hundred years: more is a slip of the keyboard, and would not fit where times are added up. */
const LONGEST_MS = 100 * 365 * 86_400_000;

export const DURATION_RULE = "a number of seconds, or numbers with units s, m, h, d, w: 90, 30m, 1h30m, 2d";

/** In milliseconds. @throws `invalid-input` */
export function parseDuration(field: string, text: string): number {
  checkInput(field, text, TEXT);
  const ms = read(text.trim());
  if (ms !== null && isDuration(text)) return ms;
  throw new HoldfastError("invalid-input", `${field} ${whatIsWrong(ms)}: ${JSON.stringify(text.slice(0, 40))}`, {
    hint: `write ${DURATION_RULE}`,
    facts: { field },
  });
}

function whatIsWrong(ms: number | null): string {
  if (ms === null) return "is not a length of time";
  return ms > 0 ? "is longer than a hundred years" : "must be longer than 0";
}

export function isDuration(text: string): boolean {
  const ms = read(text.trim());
  return ms !== null && ms > 0 && ms <= LONGEST_MS;
}

/** The two largest units: `1h 5m`, `12s`. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms / 1000));
  const parts: string[] = [];
  for (const [unit, size] of Object.entries(UNITS).reverse().slice(1)) {
    const count = Math.floor(rest / (size / 1000));
    rest -= count * (size / 1000);
    if (count > 0 && parts.length < 2) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
  }
  return parts.join(" ") || "0s";
}

function read(text: string): number | null {
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  const parts = [...text.matchAll(PART)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return null;
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ""] ?? 0), 0));
}
