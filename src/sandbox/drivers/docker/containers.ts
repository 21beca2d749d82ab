/** @module What is asked of a container engine about containers and images, and what its answers mean. */
import { type ErrorCode, HoldfastError } from "../../../base/errors.ts";
import type { Abortable } from "../../driver.ts";
import type { Engine } from "./engine.ts";
import { classify, reasonOf } from "./engine-error.ts";
import { type InspectedContainer, parseInspect } from "./inspect.ts";

const PROBE_LIMIT_MS = 10_000;
const START_LIMIT_MS = 30_000;
const STOP_GRACE_SECONDS = 10;
const STOP_LIMIT_MS = 30_000;
const REMOVE_LIMIT_MS = 30_000;

export interface ImageFacts {
  readonly id: string;
  /** Null: root. */
  readonly user: string | null;
  /** The HOME among its variables, if it has one. */
  readonly home: string | null;
  /** What its programs run on, as `linux/amd64`. */
  readonly platform: string;
}

export interface Containers {
  /** Those with all of the labels, in any state. */
  list(filterArgs: readonly string[], options?: Abortable): Promise<InspectedContainer[]>;
  /** By id or name; null when there is none. */
  find(id: string, options?: Abortable): Promise<InspectedContainer | null>;
  start(id: string, options?: Abortable): Promise<void>;
  /** What does not comply in time is killed. */
  stop(id: string, options?: Abortable): Promise<void>;
  rename(id: string, name: string): Promise<void>;
  unpause(id: string, options?: Abortable): Promise<void>;
  /** Stops it, and removes it with its anonymous volumes. Absent is success. With `ended` only one that has ended: the engine refuses another. */
  remove(id: string, options?: Abortable & { readonly ended?: boolean }): Promise<void>;
  /** The last lines of what its first process wrote. */
  logs(id: string): Promise<string>;
  /** Null when it is not there. */
  image(name: string, options?: Abortable): Promise<ImageFacts | null>;
  pull(name: string, options: Abortable & { limitMs: number; onLine(line: string): void }): Promise<void>;
}

export function createContainers(engine: () => Promise<Engine>): Containers {
  const ask = async (args: readonly string[], limitMs: number, { signal }: Abortable = {}) =>
    (await engine()).run(args, { limitMs, signal });

  const inspect = async (ids: readonly string[], options?: Abortable): Promise<InspectedContainer[]> => {
    if (ids.length === 0) return [];
    const result = await ask(["container", "inspect", ...ids], PROBE_LIMIT_MS, options);
    // One of several may have gone in between; the others are told all the same.
    if (result.code !== 0 && classify(result.stderr) !== "no-such-container") throw failure("inspect", result.stderr);
    return parseInspect(result.stdout.trim() || "[]");
  };
  const change = async (args: readonly string[], limitMs: number, options?: Abortable): Promise<void> => {
    const { code, stderr } = await ask(args, limitMs, options);
    if (code !== 0) throw failure(args[0] ?? "", stderr);
  };

  return {
    async list(filterArgs, options) {
      const { code, stdout, stderr } = await ask(["ps", "-aq", "--no-trunc", ...filterArgs], PROBE_LIMIT_MS, options);
      if (code !== 0) throw failure("ps", stderr);
      return inspect(stdout.split("\n").filter(Boolean), options);
    },
    find: async (id, options) => (await inspect([id], options))[0] ?? null,
    start: (id, options) => change(["start", id], START_LIMIT_MS, options),
    stop: (id, options) => change(["stop", "-t", String(STOP_GRACE_SECONDS), id], STOP_LIMIT_MS, options),
    rename: (id, name) => change(["rename", id, name], PROBE_LIMIT_MS),
    unpause: (id, options) => change(["unpause", id], START_LIMIT_MS, options),
    async remove(id, { ended = false, ...options } = {}) {
      // A container that does not stop in time, or is paused, is killed by its removal.
      if (!ended) await ask(["stop", "-t", String(STOP_GRACE_SECONDS), id], STOP_LIMIT_MS, options).catch(unlessTimeout);
      const { code, stderr } = await ask(["rm", ...(ended ? [] : ["-f"]), "-v", id], REMOVE_LIMIT_MS, options);
      const kind = code === 0 ? "gone" : classify(stderr);
      if (kind !== "gone" && kind !== "no-such-container" && kind !== "being-removed") throw failure("rm", stderr);
    },
    async logs(id) {
      const { stdout, stderr } = await ask(["logs", "--tail", "5", id], PROBE_LIMIT_MS);
      return (stdout + stderr).trim();
    },
    async image(name, options) {
      const { code, stdout, stderr } = await ask(["image", "inspect", name], PROBE_LIMIT_MS, options);
      if (code === 0) return imageFacts(stdout);
      if (classify(stderr) === "no-such-image") return null;
      throw failure(`image inspect ${name}`, stderr);
    },
    async pull(name, { signal, limitMs, onLine }) {
      const { code, stderr } = await (await engine()).run(["pull", name], { limitMs, signal, onLine });
      if (code !== 0) {
        throw new HoldfastError("sandbox-create-failed", `the image ${name} cannot be pulled: ${reasonOf(stderr)}`, {
          hint: "correct terminal.docker_image, or pull it by hand to see what is wrong",
          facts: { image: name },
        });
      }
    },
  };
}

/** What an engine says when it refuses. An engine that does not answer is another matter, whatever was asked of it. */
export function failure(command: string, stderr: string, { code: refused = "backend-broken" }: { code?: ErrorCode } = {}): HoldfastError {
  const kind = classify(stderr);
  const code = kind === "daemon-down" || kind === "not-permitted" ? "engine-not-responding" : refused;
  return new HoldfastError(code, `the container engine refused ${command}: ${reasonOf(stderr)}`, { facts: { command, kind } });
}

interface InspectedImage {
  readonly Id?: string;
  readonly Os?: string;
  readonly Architecture?: string;
  readonly Config?: { readonly User?: string; readonly Env?: string[] | null } | null;
}

function imageFacts(text: string): ImageFacts {
  const [image] = JSON.parse(text) as InspectedImage[];
  const user = image?.Config?.User ?? "";
  const home = image?.Config?.Env?.find((variable) => variable.startsWith("HOME="))?.slice("HOME=".length);
  return {
    id: image?.Id ?? "",
    user: isRoot(user) ? null : user,
    home: home ?? null,
    platform: `${image?.Os ?? ""}/${image?.Architecture ?? ""}`,
  };
}

function isRoot(user: string): boolean {
  return /^(?:|root|0)(?::.*)?$/.test(user);
}

function unlessTimeout(error: unknown): void {
  if (!HoldfastError.isInstance(error) || error.code !== "operation-timeout") throw error;
}
