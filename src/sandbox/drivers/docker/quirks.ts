/** @module Where the command lines of docker and podman differ, as data. */

export type EngineKind = "docker" | "podman";

export interface Quirks {
  /** Further arguments of `run`. */
  readonly runArgs: readonly string[];
  /** Arguments of `top` behind the container's name, for lines of a process id and its command. */
  readonly topArgs: readonly string[];
  /** Whether those ids are the host's own, not the container's. */
  readonly topShowsHostIds: boolean;
  /** How a tmpfs is given to the container's user: by its numbers, or by an option that finds them itself. */
  readonly tmpfsOwner: "numbers" | "U";
  /** What `run --init` says on a machine that lacks the engine's init program. */
  readonly initMissing: RegExp;
}

export const QUIRKS: Readonly<Record<EngineKind, Quirks>> = {
  docker: {
    runArgs: [],
    topArgs: ["-eo", "pid,args"],
    topShowsHostIds: true,
    tmpfsOwner: "numbers",
    initMissing: /docker-init.*(?:not found|no such file)/i,
  },
  podman: {
    // Otherwise the caller's proxies, often with a password in them, enter every container.
    runArgs: ["--http-proxy=false"],
    topArgs: ["pid", "args"],
    topShowsHostIds: false,
    tmpfsOwner: "U",
    initMissing: /container-init binary not found/i,
  },
};
