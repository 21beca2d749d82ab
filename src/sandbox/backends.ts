/** @module What to say about a backend that `terminal.backend` does not accept. */

/** Backends that Holdfast knows about whether or not it has a driver for them: asking for one is not a spelling mistake. */
const KNOWN_BACKENDS: readonly unknown[] = [
  "apptainer",
  "bubblewrap",
  "daytona",
  "kubernetes",
  "modal",
  "podman",
  "singularity",
  "ssh",
  "vercel_sandbox",
];

/** The hint for a refused backend, if its name is a known one. */
export function missingDriverHint(refused: unknown): string | undefined {
  if (!KNOWN_BACKENDS.includes(refused)) return undefined;
  if (refused === "podman")
    return "the docker backend uses podman where there is no docker; HOLDFAST_DOCKER_BINARY=podman makes it use podman in any case";
  return `this version of Holdfast has no ${refused} driver, and it never falls back to another backend by itself`;
}
