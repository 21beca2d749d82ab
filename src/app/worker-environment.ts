/** @module The variables of workers and their supervisors: what they need, and nothing of the dispatcher's or another profile's secrets (K28). */
import { delimiter } from "node:path";
import { HoldfastError } from "../base/errors.ts";
import type { Claim } from "../board/claims.ts";
import type { Environment } from "../config/environment.ts";
import type { LaunchOptions } from "../dispatcher/worker.ts";
import { identityVariables } from "./worker-identity.ts";

/** Of the dispatcher's own variables: what a program needs to run at all. */
const PLAIN =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_(ALL|CTYPE|COLLATE|MESSAGES|MONETARY|NUMERIC|TIME)|TZ|TMPDIR|TERM|COLORTERM|NO_COLOR)$/;
/** And what a supervisor needs to reach sandboxes. */
const BACKENDS =
  /^(TERMINAL|DOCKER|CONTAINER|CONTAINERS|BUILDAH|PODMAN|XDG)_[A-Z_]+$|^(HOLDFAST_HOME|HOLDFAST_DOCKER_BINARY|HERMES_DOCKER_BINARY|SSH_AUTH_SOCK)$/;
const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

export function plainVariables(environment: Environment): Record<string, string> {
  return pick(environment, (name) => PLAIN.test(name));
}

export function supervisorVariables(environment: Environment, home: string): Record<string, string> {
  return { ...pick(environment, (name) => PLAIN.test(name) || BACKENDS.test(name)), HOLDFAST_HOME: home };
}

/** What a sandbox on this machine needs, and hands on to what runs in it. */
export function localVariables(environment: Environment): Record<string, string> {
  return pick(environment, (name) => PLAIN.test(name) || name.startsWith("TERMINAL_") || name === "HOLDFAST_HOME");
}

export interface WorkerVariables {
  readonly claim: Claim;
  readonly launch: LaunchOptions;
  /** The home of `default`. */
  readonly home: string;
  /** Null: where the configuration of `default` says; otherwise a flag or a variable of the dispatcher said so. */
  readonly database: string | null;
  /** Where `holdfast` is. */
  readonly bin: string;
  /** Paths of images that the worker shall see (K31). */
  readonly images: readonly string[];
  readonly environment: Environment;
  /** The profile's own `.env`. */
  readonly dotenv: Readonly<Record<string, string>>;
}

/** On the host everything; in a sandbox only what comes besides the sandbox's own. */
export function workerVariables({
  claim,
  launch,
  home,
  database,
  bin,
  images,
  environment,
  dotenv,
}: WorkerVariables): Record<string, string> {
  const { task, run, token } = claim;
  const { worker, workspace } = launch;
  const onHost = worker.sandbox === "none";
  const base = plainVariables(environment);
  const own = Object.fromEntries(
    Object.entries(worker.env).map(([name, value]) => [name, resolved(name, value, { dotenv, profile: run.profile })]),
  );
  const skills = task.skills ?? worker.skills;
  return {
    ...(onHost && { ...base, ...dotenv }),
    ...own,
    // Whatever path it has, `holdfast` is this one.
    ...(onHost ? { PATH: [bin, own.PATH ?? dotenv.PATH ?? base.PATH].filter(Boolean).join(delimiter) } : { HOLDFAST_BIN: bin }),
    ...identityVariables({ home, profile: run.profile, task: task.id, run: run.id, token, board: task.board, database }),
    HOLDFAST_WORKSPACE: workspace.path,
    ...(workspace.branch !== null && { HOLDFAST_BRANCH: workspace.branch }),
    ...(task.tenant !== null && { HOLDFAST_TENANT: task.tenant }),
    ...(skills.length > 0 && { HOLDFAST_SKILLS: skills.join(",") }),
    ...(task.model !== null && { HOLDFAST_MODEL: task.model }),
    ...(images.length > 0 && { HOLDFAST_IMAGES: JSON.stringify(images) }),
  };
}

function resolved(name: string, value: string, { dotenv, profile }: Pick<WorkerVariables, "dotenv"> & { profile: string }): string {
  const reference = REFERENCE.exec(value)?.[1];
  if (reference === undefined) return value;
  const found = dotenv[reference];
  if (found !== undefined) return found;
  const missing = `worker.env.${name} is \${${reference}}, but the .env of profile ${profile} has no line ${reference}=…`;
  // The board keeps the message of a run that could not be started, and not its hint.
  throw new HoldfastError("config-bad-value", `${missing} (\`holdfast profile show ${profile}\` says where it is)`, {
    hint: "add it to .env, or correct the name",
    facts: { key: "worker.env", variable: reference },
  });
}

function pick(environment: Environment, wanted: (name: string) => boolean): Record<string, string> {
  const entries = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined && wanted(entry[0]));
  return Object.fromEntries(entries);
}
