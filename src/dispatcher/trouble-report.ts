/** @module Tells of a trouble when it begins, changes and ends, not each time it is met. */
import { createRecent } from "./recent.ts";

export interface TroubleReport {
  /** True when it is new or has changed. */
  begins(subject: string, trouble: string): boolean;
  /** True when there was one. */
  ends(subject: string): boolean;
}

export function createTroubleReport(): TroubleReport {
  const known = createRecent<string, string>();
  return {
    begins(subject, trouble) {
      if (known.get(subject) === trouble) return false;
      known.set(subject, trouble);
      return true;
    },
    ends: (subject) => known.delete(subject),
  };
}
