/** @module A daemon that an earlier version of Holdfast has started: of all requests, `STATUS` and `STOP` mean the same in every version. */
import { type Clock, delay } from "../../base/clock.ts";
import { HoldfastError } from "../../base/errors.ts";
import type { DaemonLink } from "./link.ts";
import { type DaemonStatus, daemonStatus } from "./status.ts";
import { FROM_CLIENT } from "./types.ts";
import { createWriter, PROTOCOL_VERSION } from "./wire.ts";

/** How long it may still say that it is busy when whoever used it has just left. */
const SETTLE_MS = 20;

export function isOlder({ version }: DaemonLink): boolean {
  return version < PROTOCOL_VERSION;
}

/** Ends it and everything that it runs, and waits for that. */
export async function stopDaemon(link: DaemonLink, graceMs: number): Promise<void> {
  link.open(FROM_CLIENT.stop, createWriter().u32(graceMs).done(), { onFrame: () => false, onLost: () => {} });
  await link.closed;
}

export interface RetireOptions {
  readonly clock: Clock;
  /** What else can be done when it is busy, such that no file is lost. */
  readonly hint: string;
}

/**
 * Ends an older daemon that nobody needs, so that one of this version takes its place. The link is closed in any case.
 * @throws `daemon-failed` when it is busy
 */
export async function retire(link: DaemonLink, { clock, hint }: RetireOptions): Promise<void> {
  await using _link = link;
  try {
    let status = await daemonStatus(link);
    if (status.idleMs === 0) {
      await delay(clock, SETTLE_MS);
      status = await daemonStatus(link);
    }
    if (status.idleMs === 0) throw inUse(link, status, hint);
    await stopDaemon(link, 0);
  } catch (error) {
    // Somebody else was quicker to end it.
    if (!HoldfastError.isInstance(error) || error.code !== "sandbox-lost" || error.facts.abandoned) throw error;
  }
}

/** One that cannot make way, because there is none to take its place. */
export function irreplaceable({ version }: DaemonLink): HoldfastError {
  return new HoldfastError("daemon-failed", `${whatItIs(version)}, and there is no holdfastd of this version to take its place`, {
    hint: "`holdfast doctor` says why holdfastd is missing; with it, the next use goes on with all files",
    facts: { protocol: version },
  });
}

function inUse({ version }: DaemonLink, { calls, processes, ptys, leases, lastUsedFor }: DaemonStatus, hint: string): HoldfastError {
  const labels = leases.map(({ label }) => label);
  const ours = labels.indexOf(`holdfast ${process.pid}`);
  const users = labels.filter((_, index) => index !== ours);
  const counts = [
    [calls, "a call", "calls"],
    [processes, "a background process", "background processes"],
    [ptys, "a terminal", "terminals"],
    [users.length, "another process of Holdfast", "other processes of Holdfast"],
  ] as const;
  const uses = counts.filter(([count]) => count > 0).map(([count, one, many]) => (count === 1 ? one : `${count} ${many}`));
  const what = uses.length > 0 ? uses.join(", ") : "what an earlier command has left running";
  return new HoldfastError("daemon-failed", `${whatItIs(version)}, and was not replaced because it is in use: ${what}`, {
    hint,
    facts: { protocol: version, calls, processes, ptys, users, lastUsedFor },
  });
}

function whatItIs(version: number): string {
  return `the daemon in the sandbox is of an earlier version of Holdfast (it speaks version ${version} of the protocol, this one ${PROTOCOL_VERSION})`;
}
