/** @module From configuration to the spec of a sandbox. */
import type { Config } from "../config/schema.ts";
import type { Capabilities } from "../sandbox/driver.ts";
import type { SandboxSpec } from "../sandbox/spec.ts";

/**
 * The backends so far run on the host itself, where images, mounts and limits mean nothing. Keys that have no effect stay out of the spec:
 * a change of theirs must not look like a changed sandbox.
 */
export function specFromConfig({ terminal }: Config, { persistsAcrossProcesses }: Capabilities): SandboxSpec {
  return {
    backend: terminal.backend,
    image: null,
    // A sandbox that no other process can find again would only be left behind.
    persist: persistsAcrossProcesses,
    keepFiles: true,
    cwd: terminal.cwd,
    env: {},
    forwardEnv: [],
    mounts: [],
    limits: { cpu: 0, memoryMb: 0, diskMb: 0, pids: 0, strict: false },
    hostUser: true,
    network: true,
    idleStopSeconds: terminal.idle_stop_seconds,
    extraArgs: [],
  };
}
