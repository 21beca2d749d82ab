/** @module The process's own environment: the only place that reads it. */

export type Environment = Readonly<Record<string, string | undefined>>;

/** A copy, so that what was loaded from it does not change behind the back of its user. */
export function processEnvironment(): Environment {
  return { ...process.env };
}
