/** @module The names that `terminal.backend` accepts. */

export const BACKENDS = ["local", "memory"] as const;
export type Backend = (typeof BACKENDS)[number];

/** Backends that Holdfast knows about without having a driver for them: asking for one is not a spelling mistake. */
export const BACKENDS_WITHOUT_DRIVER = [
  "apptainer",
  "bubblewrap",
  "daytona",
  "docker",
  "kubernetes",
  "modal",
  "podman",
  "singularity",
  "ssh",
] as const;

/** What to tell someone whose backend was refused, if it is one of the known names. */
export function missingDriverHint(input: unknown): string | undefined {
  const name = BACKENDS_WITHOUT_DRIVER.find((known) => known === input);
  return name && `this version of Holdfast has no ${name} driver; it never falls back to another backend by itself`;
}
