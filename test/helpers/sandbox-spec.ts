/** @module A complete spec for tests that do not care what it says. */
import type { SandboxSpec } from "../../src/sandbox/spec.ts";

export function sandboxSpec(changes: Partial<SandboxSpec> = {}): SandboxSpec {
  return {
    backend: "memory",
    image: null,
    persist: true,
    keepFiles: true,
    cwd: null,
    env: {},
    forwardEnv: [],
    mounts: [],
    limits: { cpu: 0, memoryMb: 0, diskMb: 0, pids: 0, strict: false },
    hostUser: false,
    network: true,
    idleStopSeconds: 0,
    extraArgs: [],
    ...changes,
  };
}
