/** @module What the failure of an engine's client means, from what it wrote to standard error. */

export type EngineFailure =
  | "no-such-container"
  | "name-taken"
  /** It is there, but on its way out: neither usable nor gone. */
  | "being-removed"
  /** Stopped or paused. */
  | "not-running"
  | "no-such-image"
  | "not-permitted"
  | "daemon-down"
  | "other";

/** The first that fits counts, so the narrower ones come first. Docker 20 to 29 and Podman 4 and 5. */
const MESSAGES: readonly (readonly [EngineFailure, RegExp])[] = [
  ["not-permitted", /permission denied while trying to connect|dial unix [^\n]*: connect: permission denied/i],
  [
    "daemon-down",
    /cannot connect to the docker daemon|failed to connect to the docker api|error during connect|is the docker daemon running|cannot connect to podman|unable to connect to podman socket|dial (?:unix|tcp) [^\n]*: connect: /i,
  ],
  ["name-taken", /container name "[^"\n]*" is already in use|name is already in use|name \S+ already in use/i],
  ["being-removed", /removal of container \S+ is already in progress|is marked for removal|container \S+ is being removed/i],
  ["no-such-container", /no such container|no such object|no container with name or id/i],
  [
    "not-running",
    /container \S+ is not running|container is not running|is paused, unpause|is paused\b|container state improper|can only be used on running containers|cannot exec (?:in|a) (?:stopped )?container|cannot exec in a stopped state|is restarting, wait until/i,
  ],
  [
    "no-such-image",
    /no such image|image not known|manifest unknown|manifest for \S+ not found|pull access denied|repository \S+ not found|short-name \S+ did not resolve/i,
  ],
];

/**
 * For commands of the engine itself that failed. Never for `exec`, where standard error is that of a program that may say anything,
 * also that a container is not running.
 */
export function classify(stderr: string): EngineFailure {
  return MESSAGES.find(([, pattern]) => pattern.test(stderr))?.[0] ?? "other";
}

/** The line that says what went wrong, without the client's own advice around it. */
export function reasonOf(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  const told = lines.filter((line) => line !== "" && !/^(?:WARNING:|time="|Run '|See '|Emulate Docker CLI)/.test(line));
  const reason = told.find((line) => /error|cannot|failed|denied|no such/i.test(line)) ?? told[0] ?? "it says nothing";
  return reason.replace(/^(?:docker|podman): /, "").replace(/^Error(?: response from daemon)?: /, "");
}
