/** @module Run as a program of its own: imports the modules named in its arguments and reports on fd 3 what that changed in the process. */
import { writeSync } from "node:fs";

export interface ImportReport {
  readonly before: ProcessState;
  readonly after: ProcessState;
}

export interface ProcessState {
  readonly env: Record<string, string | undefined>;
  /** Open handles and timers that keep the process alive. */
  readonly resources: readonly string[];
  /** How many listeners `process` has per event. */
  readonly listeners: Record<string, number>;
  readonly exitCode: unknown;
}

if (import.meta.main) {
  const before = processState();
  for (const path of process.argv.slice(2)) await import(path);
  const report: ImportReport = { before, after: processState() };
  writeSync(3, JSON.stringify(report));
}

function processState(): ProcessState {
  return {
    env: { ...process.env },
    resources: process.getActiveResourcesInfo(),
    listeners: Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)])),
    exitCode: process.exitCode,
  };
}
