/** @module Finds the program of the container engine. */
import { isAbsolute, join } from "node:path";
import { HoldfastError } from "../../../base/errors.ts";

export interface FindEngineOptions {
  /** Of the variable that names one: a path, or a name to look for. */
  readonly override: { readonly name: string; readonly value: string } | null;
  /** The value of PATH. */
  readonly path: string;
  /** Whether there is a program under an absolute path. */
  exists(path: string): boolean;
}

const PROGRAMS = ["docker", "podman"];

/** For programs that were started without the PATH of a shell, as from a desktop. */
const KNOWN_PLACES = [
  "/usr/local/bin/docker",
  "/opt/homebrew/bin/docker",
  "/Applications/Docker.app/Contents/Resources/bin/docker",
  "/usr/local/bin/podman",
  "/opt/homebrew/bin/podman",
];

/**
 * The absolute path of the engine's program (S1). One that is named is that one or an error: another engine has other sandboxes.
 * @throws `engine-not-found`
 */
export function findEngine({ override, path, exists }: FindEngineOptions): string {
  // An entry that is relative, or empty, means the current directory, where a repository could put a program of its own.
  const directories = path.split(":").filter((directory) => isAbsolute(directory));
  const onPath = (name: string) => directories.map((directory) => join(directory, name));
  const candidates = override ? namedCandidates(override.value, onPath) : [...PROGRAMS.flatMap(onPath), ...KNOWN_PLACES];
  const found = candidates.find((candidate) => exists(candidate));
  if (found !== undefined) return found;
  const named = override ? `: ${override.name} names ${JSON.stringify(override.value)}` : "";
  throw new HoldfastError("engine-not-found", `Docker executable not found in PATH or known install locations${named}`, {
    hint: override ? `correct ${override.name}: the absolute path of a program, or the name of one on PATH` : undefined,
    facts: { override: override?.value ?? null, path },
  });
}

function namedCandidates(override: string, onPath: (name: string) => string[]): string[] {
  if (isAbsolute(override)) return [override];
  return override.includes("/") ? [] : onPath(override);
}
