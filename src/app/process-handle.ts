/** @module One background process for programs: everything that can be done with it, without its id. */
import type { Abortable, ExitStatus } from "../sandbox/driver.ts";
import type {
  Attachment,
  AttachOptions,
  LogChunk,
  LogOptions,
  ProcessEvent,
  Processes,
  ProcessInfo,
  WatchOptions,
} from "../sandbox/process.ts";

/** All of these reject with `process-not-found` once the process has been removed. */
export interface ProcessHandle {
  readonly id: string;
  info(): Promise<ProcessInfo>;
  /** Its output, standard output and standard error together. */
  logs(options?: LogOptions): AsyncIterable<LogChunk>;
  /** Tells of lines that match, and at last of its end. */
  watch(options: WatchOptions): AsyncIterable<ProcessEvent>;
  wait(options?: Abortable): Promise<ExitStatus>;
  /** Ends it with all that came from it: TERM, `graceMs` to comply (2,000), then KILL. */
  kill(options?: { graceMs?: number }): Promise<void>;
  /** Sends `SIGHUP` and the like to its process group. */
  signal(name: string): Promise<void>;
  /** Writes to its standard input, or types on its terminal; `end`: nothing more will come. */
  write(bytes: string | Uint8Array, options?: { end?: boolean }): Promise<void>;
  attach(options: AttachOptions): Promise<Attachment>;
  /** Forgets it and its output, when it has ended. */
  remove(): Promise<void>;
}

export function createProcessHandle(processes: Processes, id: string): ProcessHandle {
  return {
    id,
    info: () => processes.get(id),
    logs: (options) => processes.logs(id, options),
    watch: (options) => processes.watch(id, options),
    wait: (options) => processes.wait(id, options),
    kill: (options) => processes.kill(id, options),
    signal: (name) => processes.signal(id, name),
    write: (bytes, options) => processes.write(id, bytes, options),
    attach: (options) => processes.attach(id, options),
    remove: () => processes.remove(id),
  };
}
