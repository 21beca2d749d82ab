/** @module A sandbox in which holdfastd runs, as the rest of `sandbox/` uses it. */
import type { DaemonCommand } from "./calls.ts";
import type { DaemonLink } from "./link.ts";

export interface DaemonAccess {
  readonly link: DaemonLink;
  /** The environment of a command: the given one, or without it the sandbox's own, and what marks it as the sandbox's. */
  environment(env?: Readonly<Record<string, string>>): Pick<DaemonCommand, "env" | "inherit">;
}
