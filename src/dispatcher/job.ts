/** @module What a supervisor is told: everything about one run, over its standard input, so that no secret is in its arguments. */
import type { WorkerSettings } from "./worker.ts";

export interface Job {
  readonly run: number;
  readonly task: string;
  readonly board: string;
  readonly profile: string;
  readonly token: string;
  /** The database, with a password if it needs one. */
  readonly database: string;
  /** The home of `default`. */
  readonly home: string;
  /** What every process of the run carries as `HOLDFAST_SUPERVISED`. */
  readonly mark: string;
  readonly command: readonly string[];
  readonly sandbox: WorkerSettings["sandbox"];
  readonly workspace: string;
  /** What was decided and written down: that its sandbox has files of its own. */
  readonly isolated: boolean;
  /** All variables of a worker on the host; in a sandbox, those besides the sandbox's own. */
  readonly env: Readonly<Record<string, string>>;
  readonly log: { readonly path: string; readonly rotateBytes: number; readonly backups: number };
  readonly maxRuntimeMs: number | null;
  readonly graceMs: number;
  readonly ttlMs: number;
}

/** The variable by which every process of a run is found again. */
export const MARK = "HOLDFAST_SUPERVISED";

/** Null when whoever started the supervisor ended before it had said everything: then nothing must be started. */
export function parseJob(text: string): Job | null {
  return text.endsWith("\n") ? (JSON.parse(text) as Job) : null;
}
