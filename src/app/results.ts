/** @module What operations give back, as plain types: the library's types must not drag a schema library along. */
import type { DaemonStatus } from "../sandbox/daemon/status.ts";
import type { SandboxActivity } from "../sandbox/driver.ts";

export interface SandboxSummary {
  readonly id: string;
  readonly backend: string;
  readonly profile: string;
  readonly task: string;
  readonly state: "running" | "stopped";
  /** ISO 8601. */
  readonly createdAt: string;
}

export interface SandboxDetails extends SandboxSummary {
  readonly fingerprint: string;
  /** The configuration has changed since it was made. */
  readonly drifted: boolean;
  readonly sessions: readonly SessionSummary[];
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
}

export interface DoctorReport {
  /** The configured backend. */
  readonly backend: string;
  /** It is ready, and so is the home. */
  readonly healthy: boolean;
  /** Holdfast's own directory, and why it cannot be used. */
  readonly home: { readonly path: string; readonly problem: string | null };
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
