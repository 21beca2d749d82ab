/** @module The sandbox of a run was made with other settings than its profile has by then. */
import type { Run } from "./runs.ts";

export interface SandboxDrift {
  /** The task that the sandbox belongs to. */
  readonly sandbox: string;
  /** One setting each, in words. */
  readonly changed: readonly string[];
  /** A new sandbox took its place; otherwise the run used it as it was. */
  readonly replaced: boolean;
}

/** Null when there was nothing to tell. */
export function driftOf({ worker }: Pick<Run, "worker">): SandboxDrift | null {
  return (worker?.drift as SandboxDrift | undefined) ?? null;
}

export function driftInWords({ changed, replaced }: SandboxDrift): string {
  return `its sandbox had been made with other settings: ${changed.join(", ")}; ${replaced ? "a new one took its place" : "it was used as it was"}`;
}
