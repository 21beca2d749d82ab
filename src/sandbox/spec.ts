/** @module What a sandbox should be, and the fingerprint that says whether an existing one still is. */
import { digest } from "../base/ids.ts";

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  /** Further options of the engine, as they are written: `z`. Not there when there are none, so that a fingerprint stays what it was. */
  readonly options?: readonly string[];
}

export interface SandboxSpec {
  readonly backend: string;
  readonly image: string | null;
  /** Outlives the process that made it; otherwise it is removed at the end of that process, or when nobody has used it for long. */
  readonly persist: boolean;
  /** Files in its home and workspace survive the sandbox itself, which nobody lets go of between two turns. */
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

/** One thing that a sandbox was made with and that the spec says otherwise by now, in words. */
export interface Difference {
  readonly setting: string;
  readonly made: string;
  readonly wanted: string;
}

/** Setting by setting, in words. What may be secret is there as a digest only. */
export type Settings = Readonly<Record<string, string>>;

const FILES = "files in home and workspace";
const ABSENT = "not there";
/** Of a limit that the backend could not apply, so that no other value would make a difference. */
export const NOT_LIMITABLE = "cannot be limited";
/** No image and no path begins like that. */
const SECRET = "digest of a secret: ";

/**
 * What a sandbox keeps as long as it lives. The rest of a spec (where sessions begin, what is forwarded, when it stops itself) counts anew
 * for every use, so a change of it makes no sandbox outdated.
 */
export function settingsOf({ image, keepFiles, env, mounts, limits, hostUser, network, extraArgs }: SandboxSpec): Settings {
  const amount = (value: number, unit = "") => (value === 0 ? "unlimited" : `${value}${unit}`);
  return {
    image: image ?? "none",
    [FILES]: keepFiles ? "kept" : "dropped",
    ...Object.fromEntries(Object.entries(env).map(([name, value]) => [`variable ${name}`, secret(value)])),
    ...Object.fromEntries(
      mounts.map(({ source, target, readOnly, options = [] }) => [
        `mount at ${target}`,
        [source, ...(readOnly ? ["read-only"] : []), ...options].join(", "),
      ]),
    ),
    cpu: amount(limits.cpu),
    memory: amount(limits.memoryMb, " MB"),
    disk: amount(limits.diskMb, " MB"),
    "number of processes": amount(limits.pids),
    user: hostUser ? "the caller's" : "the image's",
    network: network ? "yes" : "none",
    // They may set variables.
    "extra arguments": extraArgs.length === 0 ? "none" : secret(canonicalJson(extraArgs)),
  };
}

/** Nothing for a sandbox that another system made, which says nothing about its spec. */
export function differences(
  made: { readonly fingerprint: string; readonly settings?: Settings | undefined },
  spec: SandboxSpec,
): Difference[] {
  if (made.fingerprint === "" || made.fingerprint === fingerprint(spec)) return [];
  const wanted = settingsOf(spec);
  const before = made.settings;
  if (before === undefined) return [{ setting: "fingerprint", made: made.fingerprint, wanted: fingerprint(spec) }];
  const names = new Set([...Object.keys(before), ...Object.keys(wanted)]);
  return [...names]
    .filter((setting) => before[setting] !== wanted[setting] && before[setting] !== NOT_LIMITABLE)
    .map((setting) => ({ setting, made: shown(before[setting], "one value"), wanted: shown(wanted[setting], "another value") }));
}

/** Whether a sandbox was made to leave its files; undefined where that is not known. */
export function keepsFiles(made: { readonly settings?: Settings | undefined } | null): boolean | undefined {
  const files = made?.settings?.[FILES];
  return files === undefined ? undefined : files === "kept";
}

/**
 * Whether the sandbox might reach, hold or hand out something that it no longer may: by its network, its mounts or the secrets in its
 * variables and arguments. What cannot be told counts as such.
 */
export function concernsTrust({ setting }: Difference): boolean {
  return /^(?:network$|mount at |variable |extra arguments$|fingerprint$)/.test(setting);
}

export function describeDifference({ setting, made, wanted }: Difference): string {
  return `${setting} (made with: ${made}; now: ${wanted})`;
}

function secret(value: string): string {
  return `${SECRET}${digest(value, 16)}`;
}

function shown(value: string | undefined, hidden: string): string {
  if (value === undefined) return ABSENT;
  return value.startsWith(SECRET) ? hidden : value;
}

/** JSON with sorted keys, so that the order in which fields were written does not matter. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(",")}}`;
}
