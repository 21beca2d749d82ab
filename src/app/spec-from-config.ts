/** @module From configuration to the spec of a sandbox. */
import { homedir } from "node:os";
import { posix } from "node:path";
import { HoldfastError } from "../base/errors.ts";
import type { Config } from "../config/schema.ts";
import type { Capabilities } from "../sandbox/driver.ts";
import { parseVolume, WORKSPACE } from "../sandbox/drivers/docker/mounts.ts";
import type { Mount, SandboxSpec } from "../sandbox/spec.ts";

const CONTAINER_PIDS = 256;

export interface Surroundings {
  /** The caller's directory. Null: it was deleted. */
  readonly cwd: string | null;
}

/** Keys that have no effect on a backend stay out of the spec: a change of theirs must not look like a changed sandbox. */
export function specFromConfig({ terminal }: Config, capabilities: Capabilities, { cwd }: Surroundings): SandboxSpec {
  const common = {
    backend: terminal.backend,
    cwd: terminal.cwd,
    idleStopSeconds: terminal.idle_stop_seconds,
  };
  if (!capabilities.isolatesFiles) {
    return {
      ...common,
      image: null,
      // A sandbox that no other process can find again would only be left behind.
      persist: capabilities.persistsAcrossProcesses,
      keepFiles: true,
      env: {},
      forwardEnv: [],
      mounts: [],
      limits: { cpu: 0, memoryMb: 0, diskMb: 0, pids: 0, strict: false },
      hostUser: true,
      network: true,
      extraArgs: [],
    };
  }
  return {
    ...common,
    cwd: containerDirectory(terminal.cwd, capabilities.startDirectory),
    image: terminal.docker_image,
    persist: terminal.docker_persist_across_processes,
    // Nobody finds it again when its process is killed, so it ends by itself, for the orphan reaper.
    idleStopSeconds: terminal.idle_stop_seconds || (terminal.docker_persist_across_processes ? 0 : Math.max(1, terminal.lifetime_seconds)),
    keepFiles: terminal.container_persistent,
    env: terminal.docker_env,
    forwardEnv: terminal.docker_forward_env,
    mounts: mountsOf(terminal, { cwd }),
    limits: {
      cpu: terminal.container_cpu,
      memoryMb: terminal.container_memory,
      diskMb: terminal.container_disk,
      pids: CONTAINER_PIDS,
      strict: terminal.container_limits === "strict",
    },
    hostUser: terminal.docker_run_as_host_user,
    network: terminal.docker_network,
    extraArgs: terminal.docker_extra_args,
  };
}

/** An engine takes no relative one. Null leaves it to the image. */
function containerDirectory(configured: string | null, start: string): string | null {
  if (configured === null || configured === ".") return null;
  return configured.startsWith("~") ? configured : posix.resolve(start, configured);
}

/** An explicit volume at /workspace wins over the caller's directory. */
function mountsOf(terminal: Config["terminal"], { cwd }: Surroundings): Mount[] {
  const home = homedir();
  const volumes = terminal.docker_volumes.map((entry) => parseVolume(entry, { home }));
  const free = !volumes.some(({ target }) => target === WORKSPACE);
  if (!terminal.docker_mount_cwd_to_workspace || !free) return volumes;
  if (cwd === null)
    throw new HoldfastError("cwd-invalid", `the current directory should be bound to ${WORKSPACE}, but it has been deleted`, {
      hint: "change to a directory that exists, or unset terminal.docker_mount_cwd_to_workspace",
    });
  return [...volumes, { source: cwd, target: WORKSPACE, readOnly: false }];
}
