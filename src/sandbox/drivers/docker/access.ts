/** @module How to come to this engine again when other settings and variables count, and how to know that it is the same one. */
import { HoldfastError } from "../../../base/errors.ts";
import type { Abortable, Access } from "../../driver.ts";
import { CHOOSING, type CheckedEngine } from "./checked-engine.ts";
import { failure } from "./containers.ts";

export interface AccessOptions extends Abortable {
  readonly env: Readonly<Record<string, string>>;
  readonly labelPrefix: string;
}

/** Besides those that choose the engine: how it is reached, and where Podman, which is no server, keeps its containers. */
const REACHING = [
  ...CHOOSING,
  ...["DOCKER_CONFIG", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "CONTAINER_SSHKEY", "CONTAINERS_CONF"],
  ...["CONTAINERS_STORAGE_CONF", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"],
];
const LIMIT_MS = 10_000;

/** @throws when the engine does not answer, or does not say which one it is */
export async function accessTo(engine: CheckedEngine, { env, labelPrefix, signal }: AccessOptions): Promise<Access> {
  const { kind, server } = await engine.facts(signal && { signal });
  const { code, stdout, stderr } = await engine.run(["info", "--format", "{{json .}}"], { limitMs: LIMIT_MS, signal });
  if (code !== 0) throw failure("info", stderr);
  const info = readInfo(stdout);
  // Without a host the client goes where its chosen context says, and that choice may change.
  const context = kind === "docker" && !env.DOCKER_HOST ? info.context : null;
  return {
    settings: { label_prefix: labelPrefix },
    variables: {
      ...Object.fromEntries(REACHING.map((name) => [name, env[name] ?? null])),
      ...(context && { DOCKER_CONTEXT: context }),
      HOLDFAST_DOCKER_BINARY: engine.program,
    },
    engine: identityOf(info, server),
  };
}

interface Info {
  readonly id: unknown;
  readonly context: string | null;
  readonly host: unknown;
  readonly root: unknown;
}

function readInfo(text: string): Info {
  try {
    const { ID, ClientInfo, Name, DockerRootDir, host, store } = JSON.parse(text) as Record<string, Record<string, unknown> | undefined>;
    const context = ClientInfo?.Context;
    return {
      id: ID,
      context: typeof context === "string" ? context : null,
      host: Name ?? host?.hostname,
      root: DockerRootDir ?? store?.graphRoot,
    };
  } catch (cause) {
    throw unreadable(text, cause);
  }
}

/** Docker has an id. Podman has none, and makes one up for each question of Docker's client: it is where it keeps its containers. */
function identityOf({ id, host, root }: Info, server: "docker" | "podman"): string {
  const parts = server === "docker" ? [id] : [host, root];
  if (parts.every((part) => typeof part === "string" && part !== "")) return [server, ...parts].join(" ");
  throw unreadable(JSON.stringify({ id, host, root }));
}

function unreadable(text: string, cause?: unknown): HoldfastError {
  return new HoldfastError("backend-broken", "the container engine does not say which one it is", {
    hint: "run `docker info` (or `podman info`) by hand to see what is wrong",
    facts: { beginning: text.slice(0, 200) },
    cause,
  });
}
