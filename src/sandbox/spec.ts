/** @module What a sandbox should be, and the fingerprint that says whether an existing one still is. */
import { digest } from "../base/ids.ts";

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

export interface SandboxSpec {
  readonly backend: string;
  readonly image: string | null;
  /** Stays when its last user leaves; otherwise it is torn down at the end of a turn or process. */
  readonly persist: boolean;
  /** Files in its home and workspace survive the sandbox itself. */
  readonly keepFiles: boolean;
  /** Where new sessions begin; null leaves it to the driver. */
  readonly cwd: string | null;
  /** Literal variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables that are taken from the caller for each call. */
  readonly forwardEnv: readonly string[];
  readonly mounts: readonly Mount[];
  readonly limits: {
    /** Cores; 0 = unlimited, as for the others. */
    readonly cpu: number;
    readonly memoryMb: number;
    readonly diskMb: number;
    readonly pids: number;
    /** Fail when a limit cannot be applied, instead of warning. */
    readonly strict: boolean;
  };
  /** Runs as the caller's own user and group. */
  readonly hostUser: boolean;
  readonly network: boolean;
  /** Seconds without use after which it stops itself; 0 = never. */
  readonly idleStopSeconds: number;
  /** Arguments for the backend's own command line. */
  readonly extraArgs: readonly string[];
}

/** Covers the whole spec: two specs that differ anywhere never share a fingerprint. */
export function fingerprint(spec: SandboxSpec): string {
  return digest(canonicalJson(spec), 32);
}

/** JSON with sorted keys, so that the order in which fields were written does not matter. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(",")}}`;
}
