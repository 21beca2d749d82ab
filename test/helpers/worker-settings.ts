/** @module What a profile says about its workers, in tests: on the host, and nothing that a test does not ask for. */
import type { WorkerSettings } from "../../src/dispatcher/worker.ts";

export function workerSettings(command: readonly string[], changes: Partial<WorkerSettings> = {}): WorkerSettings {
  return { command, sandbox: "none", env: {}, maxRuntimeMs: null, skills: [], vision: false, acceptsFromSandboxes: false, ...changes };
}
