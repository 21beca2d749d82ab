/** @module Coming to a container: over the socket that it shares with the host, else over the input and output of a relay in it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { throwIfAborted } from "../../../base/abort.ts";
import { spawnChild } from "../../../base/child.ts";
import { type Clock, delay } from "../../../base/clock.ts";
import { HoldfastError } from "../../../base/errors.ts";
import { connectThroughDaemon } from "../../daemon/connection.ts";
import { makeDirectory } from "../../daemon/files.ts";
import type { DaemonLink } from "../../daemon/link.ts";
import { createPrivateFiles } from "../../daemon/private-files.ts";
import type { Connection, SandboxRef } from "../../driver.ts";
import { openLink } from "../shared/daemon-socket.ts";
import { processMarks } from "../shared/refs.ts";
import type { Containers } from "./containers.ts";
import { reasonOf } from "./engine-error.ts";

/** Inside every container: what is ours, behind a door that only the container's own user gets through. */
export const OWN_PATH = "/holdfast";
export const DAEMON_PATH = `${OWN_PATH}/holdfastd`;
export const RUN_PATH = `${OWN_PATH}/run`;
export const SOCKET_PATH = `${RUN_PATH}/socket`;
export const STATE = "state";
export const STATE_PATH = `${RUN_PATH}/${STATE}`;

const SOCKET_LIMIT_MS = 5_000;
const POLL_MS = 10;

export interface ConnectOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** Null when nobody listens there. */
export async function linkThroughSocket(runDir: string, { clock }: ConnectOptions): Promise<DaemonLink | null> {
  const link = await openLink(runDir, { clock });
  return typeof link === "string" ? null : link;
}

/**
 * A container that was just started takes a moment until its daemon listens. Null when it runs, but its socket cannot be reached from here.
 * @throws `sandbox-create-failed` when it has ended again
 */
export async function waitForSocket(
  id: string,
  runDir: string,
  { containers, clock, signal }: ConnectOptions & { containers: Containers },
): Promise<DaemonLink | null> {
  const until = clock.monotonic() + SOCKET_LIMIT_MS;
  for (let attempt = 0; clock.monotonic() < until; attempt++) {
    throwIfAborted(signal, "the sandbox was not opened");
    const link = await linkThroughSocket(runDir, { clock });
    if (link) return link;
    // Asking the engine costs more than looking again.
    if (attempt % 20 === 19) await assertRunning(id, containers);
    await delay(clock, POLL_MS);
  }
  await assertRunning(id, containers);
  return null;
}

/** @throws `sandbox-create-failed` when it has ended again, `sandbox-not-found` when it is gone */
export async function assertRunning(id: string, containers: Containers): Promise<void> {
  const container = await containers.find(id);
  if (container === null)
    throw new HoldfastError("sandbox-not-found", `the container ${id} is gone`, { facts: { sandbox: id, mayHaveRun: false } });
  if (container.state !== "stopped") return;
  const said = await containers.logs(id);
  const how = `with status ${container.exitCode}${said && `: ${reasonOf(said)}`}`;
  throw new HoldfastError("sandbox-create-failed", `the container ended at once, ${how}`, {
    hint: "an image needs an entrypoint that runs the command it is given; docker_extra_args may set another one with --entrypoint",
    facts: { container: id, exitCode: container.exitCode, said },
  });
}

/** Whether anybody has ever come to the container whose daemon shares that directory. */
export function wasOpened(runDir: string): boolean {
  return existsSync(join(runDir, STATE));
}

/** The same protocol through the engine's own line to the container: for engines on other machines. */
export function relayStream(program: string, id: string, env: Readonly<Record<string, string>>): Duplex {
  const child = spawnChild(program, ["exec", "-i", id, DAEMON_PATH, "relay", "--socket", SOCKET_PATH], {
    env: { ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const stream = Duplex.from({ writable: child.stdin as never, readable: child.stdout as never });
  // Whoever reads hears of it, too; without anybody who does, an error would end this process.
  stream.on("error", () => {});
  child.once("error", (error) => stream.destroy(error));
  child.once("close", () => stream.destroy());
  return stream;
}

export async function connectContainer(
  link: DaemonLink,
  { ref, restarted, callVariables }: { ref: SandboxRef; restarted: boolean; callVariables: Readonly<Record<string, string>> },
): Promise<Connection> {
  await makeDirectory(link, STATE_PATH, { mode: 0o700, parents: true });
  const connection = connectThroughDaemon({
    daemon: {
      link,
      // Without the variables of calls: a login shell that knew them would save them with its session.
      environment: (env) => ({ env: { ...env, ...processMarks(ref.id) }, ...(env === undefined && { inherit: true }) }),
    },
    stateDir: STATE_PATH,
    files: createPrivateFiles(link),
    restarted,
    findProgram: (name) => name,
  });
  return { ...connection, callVariables };
}
