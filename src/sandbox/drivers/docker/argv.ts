/** @module The whole command line that makes a container. Pure: nothing is looked up here. */
import { posix } from "node:path";
import { HoldfastError } from "../../../base/errors.ts";
import type { Mount, SandboxSpec } from "../../spec.ts";
import { OWN_PATH } from "./connect.ts";
import type { UserIds } from "./container-user.ts";
import { mountArgs, WORKSPACE } from "./mounts.ts";
import { HOME_MODE, WORKSPACE_MODE } from "./place.ts";
import type { Quirks } from "./quirks.ts";

export interface RunRequest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: SandboxSpec;
  readonly image: string;
  /** Inside the container; may begin with `~`. Null leaves it to the image. */
  readonly cwd: string | null;
  /** The home directory of the container's user. */
  readonly home: string;
  /** Null leaves the user to the image. */
  readonly hostUser: UserIds | null;
  /** The container's user by its numbers, whoever decides on it. */
  readonly userIds: UserIds;
  /** The image's own first process runs as root. */
  readonly startsAsRoot: boolean;
  /** False for an image that brings its own init, or an engine that has none. */
  readonly init: boolean;
  /** Everything that is mounted, with absolute paths; at most one for each place. */
  readonly mounts: readonly Mount[];
  /** Where the engine writes the id of what it made, even when its client does not live to hear of it. Must not exist. */
  readonly cidFile: string;
  /** Where `RunLine.envFile` will be. */
  readonly envFile: string;
  readonly command: readonly string[];
  readonly quirks: Quirks;
}

export interface RunLine {
  readonly args: string[];
  /** For the client, which passes them on by name: values show in no list of arguments. */
  readonly env: Record<string, string>;
  /** The content of a file that the client reads: variables that would mean something to itself. Null: none. */
  readonly envFile: string | null;
}

/** Variables that would send the client to another engine, or make it work differently. */
const READ_BY_CLIENTS = new RegExp(
  [
    "^(?:PATH|HOME|USER|TMPDIR|KUBECONFIG|NOTIFY_SOCKET|GO(?:DEBUG|GC|MAXPROCS|MEMLIMIT|TRACEBACK))$",
    "^_?(?:BUILDAH|BUILDKIT|CONTAINERS?|DBUS|DOCKER|LD|LISTEN|PODMAN|REGISTRY|SSH|SSL|STORAGE|XDG)_",
    "_proxy$",
  ].join("|"),
  "i",
);

/** Without `exec` Docker mounts them noexec, and nothing can be built in /tmp. */
const TMPFS = [
  ["/tmp", "rw,exec,nosuid,size=512m"],
  ["/var/tmp", "rw,noexec,nosuid,size=256m"],
  ["/run", "rw,noexec,nosuid,size=64m"],
] as const;

export function runArgv(request: RunRequest): RunLine {
  const { name, labels, spec, image, cidFile, command, quirks } = request;
  const names = Object.keys(spec.env).sort();
  const passed = names.filter((variable) => !READ_BY_CLIENTS.test(variable));
  const heldBack = names.filter((variable) => READ_BY_CLIENTS.test(variable));
  return {
    args: [
      ...["run", "-d", ...(request.init ? ["--init"] : [])],
      // Pulling is a step of its own, with its own limit.
      ...["--pull", "never", "--name", name, "--cidfile", cidFile, ...quirks.runArgs],
      ...Object.entries(labels).flatMap(([label, value]) => ["--label", `${label}=${value}`]),
      ...directoryArgs(request),
      ...hardeningArgs(request),
      ...doorArgs(request),
      ...request.mounts.flatMap(mountArgs),
      ...scratchArgs(request),
      ...limitArgs(request),
      ...homeArgs(request),
      ...passed.flatMap((variable) => ["-e", variable]),
      ...(heldBack.length > 0 ? ["--env-file", request.envFile] : []),
      ...spec.extraArgs,
      ...[image, ...command],
    ],
    env: Object.fromEntries(passed.map((variable) => [variable, spec.env[variable] ?? ""])),
    envFile: heldBack.length > 0 ? heldBack.map((variable) => fileLine(variable, spec.env[variable] ?? "")).join("") : null,
  };
}

/** @throws `config-bad-value`, because such a file has no way to write a line break */
function fileLine(variable: string, value: string): string {
  if (/[\n\r]/.test(value))
    throw new HoldfastError(
      "config-bad-value",
      `the value of ${variable} in docker_env has a line break, which engines cannot take for it`,
      {
        hint: "set it in the image, or in the session with `export`",
        facts: { key: "terminal.docker_env", variable },
      },
    );
  return `${variable}=${value}\n`;
}

function directoryArgs({ cwd, home }: RunRequest): string[] {
  if (cwd === null) return [];
  return ["-w", cwd === "~" || cwd.startsWith("~/") ? posix.join(home, cwd.slice(1)) : cwd];
}

/**
 * The image does not know the caller's user, or as somebody with another home: the engine would say that HOME is `/`, where that user may
 * not write. The home is no secret, and as a variable of the client it would mean something to that.
 */
function homeArgs({ hostUser, home, spec }: RunRequest): string[] {
  return hostUser === null || spec.env.HOME !== undefined ? [] : ["-e", `HOME=${home}`];
}

function hardeningArgs({ hostUser, startsAsRoot, spec, mounts }: RunRequest): string[] {
  const capabilities = ["DAC_OVERRIDE", "CHOWN", "FOWNER"];
  // An image that starts as root may want to become somebody else.
  if (startsAsRoot && hostUser === null) capabilities.push("SETUID", "SETGID");
  return [
    ...["--cap-drop", "ALL", ...capabilities.flatMap((capability) => ["--cap-add", capability])],
    ...["--security-opt", "no-new-privileges"],
    // Left out, podman would set a limit of its own.
    ...["--pids-limit", String(spec.limits.pids || -1)],
    ...TMPFS.filter(([path]) => isFree(path, mounts)).flatMap(([path, options]) => ["--tmpfs", `${path}:${options}`]),
    ...(spec.network ? [] : ["--network", "none"]),
    ...(hostUser === null ? [] : ["--user", `${hostUser.uid}:${hostUser.gid}`]),
  ];
}

/**
 * The daemon's socket and secret, and the state of sessions, are nothing for other users in the container. On the host they may have to be
 * open to more than its user; here nobody else gets that far.
 */
function doorArgs(request: RunRequest): string[] {
  if (!isFree(OWN_PATH, request.mounts)) return [];
  return ["--tmpfs", `${OWN_PATH}:rw,noexec,nosuid,size=64k,${ownedBy(request)},mode=0700`];
}

/** Home and workspace of a sandbox whose files go with it. */
function scratchArgs(request: RunRequest): string[] {
  const { spec, home, mounts } = request;
  if (spec.keepFiles) return [];
  const places = [
    [WORKSPACE, WORKSPACE_MODE, "10g"],
    [home, HOME_MODE, "1g"],
  ] as const;
  return places
    .filter(([path]) => isFree(path, mounts))
    .flatMap(([path, mode, size]) => ["--tmpfs", `${path}:rw,exec,nosuid,size=${size},${ownedBy(request)},mode=0${mode.toString(8)}`]);
}

/** A tmpfs would be root's. */
function ownedBy({ userIds, quirks }: RunRequest): string {
  return quirks.tmpfsOwner === "U" ? "U" : `uid=${userIds.uid},gid=${userIds.gid}`;
}

function limitArgs({ spec: { limits } }: RunRequest): string[] {
  return [
    ...(limits.cpu > 0 ? ["--cpus", String(limits.cpu)] : []),
    ...(limits.memoryMb > 0 ? ["--memory", `${limits.memoryMb}m`] : []),
    ...(limits.diskMb > 0 ? ["--storage-opt", `size=${limits.diskMb}m`] : []),
  ];
}

/** Two mounts in one place are an error of the engine: what was asked for by its path wins. */
function isFree(path: string, mounts: readonly Mount[]): boolean {
  return mounts.every(({ target }) => target !== path);
}
