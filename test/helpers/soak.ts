/**
 * @module How often a test does what it repeats: a few times in ./check, as often as it was ever asked to with ./check --soak, whose report
 * lists these counts.
 */
import { appendFileSync } from "node:fs";

/** The file that collects the counts. */
const SOAK = process.env.HOLDFAST_SOAK;

export const isSoak = SOAK !== undefined;

export function soakCount(what: string, { check, soak }: { check: number; soak: number }): number {
  if (SOAK === undefined) return check;
  appendFileSync(SOAK, `${what}\t${soak}\n`);
  return soak;
}
