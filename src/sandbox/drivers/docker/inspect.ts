/** @module Reads what `docker inspect` and `podman inspect` print about containers. */
import { HoldfastError } from "../../../base/errors.ts";

export interface InspectedContainer {
  readonly id: string;
  readonly name: string;
  readonly state: "running" | "paused" | "stopped";
  /** The engine's own word for the state: `exited`, `created`, `removing` … */
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch, by the engine's clock; null when the engine does not say. */
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** Of the last run; null when the engine does not say. */
  readonly exitCode: number | null;
  readonly oomKilled: boolean;
  /** The image by the name it was asked for, else by its id. */
  readonly image: string;
  /** Paths of the host that are mounted in it. */
  readonly sources: readonly string[];
  /** In force; 0 = none. */
  readonly limits: { readonly cpu: number; readonly memoryMb: number; readonly diskMb: number; readonly pids: number };
}

type Fields = Readonly<Record<string, unknown>>;

/** @throws `backend-broken` when the text is not a JSON list of containers. */
export function parseInspect(text: string): InspectedContainer[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unreadable(text, cause);
  }
  if (!Array.isArray(value)) throw unreadable(text);
  return value.map((entry: unknown) => {
    const container = readContainer(fieldsOf(entry));
    // Without an id there is nothing to act on, and an empty one would be taken for an argument that is missing.
    if (container.id === "") throw unreadable(text);
    return container;
  });
}

/**
 * Milliseconds since the epoch. Go prints up to nine digits of a second and, for a time that never was, the year 1; both that and what is no
 * time at all are null, so that nobody takes it for an age (S28).
 */
export function parseEngineTime(value: unknown): number | null {
  if (typeof value !== "string") return null;
  const match = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?\s?(Z|[+-]\d{2}:?\d{2})(?: [A-Z]\w*)?$/.exec(value);
  if (match === null) return null;
  const [, date, time, fraction = "", zone = ""] = match;
  const at = Date.parse(`${date}T${time}.${fraction.padEnd(3, "0").slice(0, 3)}${zone.replace(/(\d{2})(\d{2})$/, "$1:$2")}`);
  return at > 0 ? at : null;
}

function readContainer(container: Fields): InspectedContainer {
  const state = fieldsOf(container.State);
  const config = fieldsOf(container.Config);
  const status = textOf(state.Status).toLowerCase();
  return {
    id: textOf(container.Id),
    name: textOf(container.Name).replace(/^\//, ""),
    state: status === "running" || status === "paused" ? status : "stopped",
    status,
    labels: labelsOf(config.Labels),
    startedAt: parseEngineTime(state.StartedAt),
    finishedAt: parseEngineTime(state.FinishedAt),
    exitCode: typeof state.ExitCode === "number" ? state.ExitCode : null,
    oomKilled: state.OOMKilled === true,
    sources: Array.isArray(container.Mounts) ? container.Mounts.map((mount) => textOf(fieldsOf(mount).Source)).filter(Boolean) : [],
    limits: limitsOf(fieldsOf(container.HostConfig)),
    image: textOf(config.Image) || textOf(container.ImageName) || textOf(container.Image),
  };
}

function limitsOf(host: Fields): InspectedContainer["limits"] {
  return {
    cpu: numberOf(host.NanoCpus) / 1e9,
    memoryMb: numberOf(host.Memory) / 1024 ** 2,
    diskMb: megabytesOf(fieldsOf(host.StorageOpt).size),
    pids: Math.max(0, numberOf(host.PidsLimit)),
  };
}

/** As it was written on the command line: `512m`. */
function megabytesOf(size: unknown): number {
  return Number(/^(\d+)m$/.exec(textOf(size))?.[1] ?? 0);
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function labelsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(fieldsOf(value)).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function unreadable(text: string, cause?: unknown): HoldfastError {
  return new HoldfastError("backend-broken", "the container engine did not describe its containers as a JSON list", {
    hint: "run `docker inspect` (or `podman inspect`) on one by hand to see what it prints",
    facts: { beginning: text.slice(0, 200) },
    cause,
  });
}
