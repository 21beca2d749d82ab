/** @module What operations give back, as plain types: the library's types must not drag a schema library along. */
import type { DaemonStatus } from "../sandbox/daemon/status.ts";
import type { SandboxActivity, SandboxDescription } from "../sandbox/driver.ts";
import type { Difference } from "../sandbox/spec.ts";

export interface SandboxSummary {
  readonly id: string;
  readonly backend: string;
  readonly profile: string;
  readonly task: string;
  readonly state: "running" | "stopped";
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. Null while it runs, and where the backend does not know. */
  readonly stoppedAt: string | null;
  /** False: it goes with the process that made it. */
  readonly persists: boolean;
}

export interface ListedSandbox extends SandboxSummary {
  /** Why it is kept, in few words. */
  readonly why: string;
}

/** What could not be asked for its sandboxes. */
export interface UnlistedSandboxes {
  readonly profile: string;
  /** Null: its configuration cannot be read, so nothing of it could be asked. */
  readonly backend: string | null;
  readonly reason: string;
}

export interface SandboxExplanation {
  readonly task: string;
  readonly backend: string;
  /** Null: there is none now. */
  readonly sandbox: SandboxSummary | null;
  readonly why: string;
  /** What ends it, one sentence each. */
  readonly goes: readonly string[];
  /** What of it outlives it. */
  readonly stays: string;
  /** Settings that the task has for itself, by key. */
  readonly chosen: Readonly<Record<string, string>>;
  /** What became of it, or of earlier ones, the latest last. */
  readonly history: readonly string[];
}

export interface PruneReport {
  readonly dryRun: boolean;
  readonly pruned: readonly {
    readonly what: string;
    readonly why: string;
    readonly profile: string;
    /** Null: it is gone, or with `dryRun` would be. */
    readonly problem: string | null;
  }[];
}

export interface SandboxDetails extends SandboxSummary {
  readonly fingerprint: string;
  /** In what it differs from the configuration. */
  readonly drift: readonly Difference[];
  /** What can be seen from outside; null where the backend has no more to tell. */
  readonly description: SandboxDescription | null;
  /** Null while it is stopped. */
  readonly sessions: readonly SessionSummary[] | null;
  /** Who uses it and what for; null where holdfastd does not run. The process that asks is not among the leases. */
  readonly use: DaemonStatus | null;
  /** Null when the backend cannot tell. */
  readonly processes: readonly SandboxActivity[] | null;
}

export interface SessionSummary {
  readonly name: string;
  readonly cwd: string;
  /** ISO 8601. */
  readonly lastUsedAt: string;
}

export interface ConfigSetting {
  readonly value: unknown;
  /** Where it comes from, in words. */
  readonly source: string;
}

export interface ConfigEntry extends ConfigSetting {
  readonly key: string;
  readonly variable: string;
  readonly default: unknown;
  readonly help: string;
  /** What would count if this value were not there, the next first. */
  readonly shadowed: readonly ConfigSetting[];
}

export interface BackendReport {
  readonly name: string;
  readonly configured: boolean;
  readonly status: "ready" | "not-applicable" | "broken";
  /** What was found, or why it does not work. */
  readonly detail: string;
  readonly fix: string | null;
  /** What works but should be known. */
  readonly warnings: readonly string[];
}

export interface DoctorReport {
  /** The configured backend. */
  readonly backend: string;
  /** It is ready, and so is the home. */
  readonly healthy: boolean;
  /** Holdfast's own directory, why it cannot be used, and what works in it or in the profile's home but should be known. */
  readonly home: { readonly path: string; readonly problem: string | null; readonly warnings: readonly string[] };
  readonly backends: readonly BackendReport[];
  readonly daemon: DaemonReport;
}

/** holdfastd, which makes calls quick, and background processes and terminals possible. */
export interface DaemonReport {
  readonly status: "used" | "off" | "missing";
  readonly detail: string;
  readonly fix: string | null;
}

export interface CopyResult {
  /** A path on the host, `task:path`, or `-` for a stream. */
  readonly from: string;
  /** Where it ended up, written the same way. */
  readonly to: string;
  /** Files, directories and links. */
  readonly entries: number;
  readonly bytes: number;
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}
