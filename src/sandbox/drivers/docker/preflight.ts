/** @module Asks a container engine whether it works, before anything depends on it. */
import { readFile, stat } from "node:fs/promises";
import { HoldfastError } from "../../../base/errors.ts";
import type { Engine, EngineResult } from "./engine.ts";
import { describeCommand } from "./engine.ts";
import { classify, reasonOf } from "./engine-error.ts";
import { type EngineKind, QUIRKS, type Quirks } from "./quirks.ts";

export interface EngineFacts {
  /** Which of the two command lines it has; what is behind it may be the other. */
  readonly kind: EngineKind;
  /** Which one is behind it. */
  readonly server: EngineKind;
  /** Of the engine itself; of the client where they are one program. */
  readonly version: string;
  readonly quirks: Quirks;
}

export interface PreflightOptions {
  readonly signal?: AbortSignal | undefined;
  /** The name of the group that a file belongs to; null when it cannot be told. */
  groupOf?(path: string): Promise<string | null>;
}

const LIMIT_MS = 5_000;
const ARGS = ["version", "--format", "{{json .}}"];

/** @throws `engine-not-responding` (S2) */
export async function preflight(engine: Engine, { signal, groupOf = groupOfFile }: PreflightOptions = {}): Promise<EngineFacts> {
  const command = describeCommand(engine.program, ARGS);
  const result = await engine.run(ARGS, { limitMs: LIMIT_MS, signal }).catch((error: unknown) => {
    if (HoldfastError.isInstance(error) && error.code === "operation-timeout")
      throw notResponding(command, `\`${command}\` gave no answer within ${LIMIT_MS / 1000} s`, { cause: error });
    throw error;
  });
  if (result.code === 0) return readVersion(result.stdout, command);
  if (classify(result.stderr) === "not-permitted") throw await notPermitted(command, result, groupOf);
  throw notResponding(command, `\`${command}\` says ${JSON.stringify(reasonOf(result.stderr))}`);
}

function readVersion(text: string, command: string): EngineFacts {
  try {
    const { Client: client, Server: server } = JSON.parse(text) as Record<string, Record<string, unknown> | null | undefined>;
    // The one field of the two that neither has ever had in the other's spelling.
    const kind = client && "APIVersion" in client ? "podman" : "docker";
    const version = server?.Version ?? client?.Version;
    // Podman's service names itself there, although it speaks Docker's language.
    const behind = JSON.stringify(server?.Components ?? "").includes("Podman") ? "podman" : kind;
    if (typeof version !== "string") throw new TypeError("it names no version");
    return { kind, server: behind, version, quirks: QUIRKS[kind] };
  } catch (cause) {
    throw new HoldfastError("backend-broken", `\`${command}\` answered with something else than its version`, {
      hint: "set HOLDFAST_DOCKER_BINARY to docker or podman itself",
      facts: { command, beginning: text.slice(0, 200) },
      cause,
    });
  }
}

async function notPermitted(
  command: string,
  { stderr }: EngineResult,
  groupOf: (path: string) => Promise<string | null>,
): Promise<HoldfastError> {
  const socket = /unix:\/\/([^\s:;]+)|dial unix ([^\s:]+)/.exec(stderr)?.slice(1).find(Boolean) ?? null;
  const group = socket === null ? null : await groupOf(socket);
  const members = group === null ? "" : `, which only members of the group ${group} may`;
  return notResponding(command, `\`${command}\` is not permitted to open ${socket ?? "the engine's socket"}${members}`, {
    hint: `add yourself to the group ${group ?? "of that socket, often docker"} and log in again, or use podman, which needs no permission`,
    facts: { socket, group },
  });
}

/** For a hint only, so whatever goes wrong just leaves the name out. */
async function groupOfFile(path: string): Promise<string | null> {
  try {
    const [{ gid }, groups] = await Promise.all([stat(path), readFile("/etc/group", "utf8")]);
    return new RegExp(`^([^:]+):[^:]*:${gid}:`, "m").exec(groups)?.[1] ?? null;
  } catch {
    // EACCES or ENOENT: a directory that may not be read, or a machine without /etc/group.
    return null;
  }
}

function notResponding(
  command: string,
  why: string,
  { hint, facts, cause }: { hint?: string; facts?: Record<string, unknown>; cause?: unknown } = {},
): HoldfastError {
  return new HoldfastError("engine-not-responding", `Docker daemon is not responding: ${why}`, {
    hint,
    facts: { command, ...facts },
    cause,
  });
}
