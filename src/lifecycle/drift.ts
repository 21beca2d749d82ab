/** @module A sandbox that was made with other settings than those asked for now (S17). */
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { daemonStatus } from "../sandbox/daemon/status.ts";
import type { Connection, SandboxDriver, SandboxRef } from "../sandbox/driver.ts";
import { concernsTrust, describeDifference, differences, type SandboxSpec } from "../sandbox/spec.ts";

/** Say so, put another one in its place unless it is busy, or say nothing. */
export type OnDrift = "warn" | "recreate" | "reuse";

export interface DriftOptions {
  driver: SandboxDriver;
  log: Logger;
  onDrift: OnDrift;
  /** What concerns trust takes effect whatever `onDrift` says, unless the sandbox is busy: for those who run unwatched. */
  strict: boolean;
}

/** What was found of a sandbox that was made with other settings, and what was done about it. */
export interface Drift {
  /** One setting each, in words. */
  readonly changed: readonly string[];
  /** Another sandbox with the new settings took its place. */
  readonly replaced: boolean;
}

/** Decides whether the sandbox has to go before the spec can be had, and says what people should know. Null: there is nothing to say. */
export async function judgeDrift(
  { ref, connection }: { ref: SandboxRef; connection: Connection },
  spec: SandboxSpec,
  { driver, log, onDrift, strict }: DriftOptions,
): Promise<Drift | null> {
  const found = differences(ref, spec);
  const urgent = strict && found.some(concernsTrust);
  if (found.length === 0 || (onDrift === "reuse" && !urgent)) return null;
  const changed = found.map(describeDifference);
  const { task } = ref.owner;
  const what = `the sandbox of task ${task} was made with other settings: ${changed.join(", ")}`;
  const facts = { sandbox: ref.id, task, changed };
  if (onDrift === "warn" && !urgent) {
    log.warn(`${what}; it is used as it is (\`holdfast sandbox reset ${task}\` makes a new one)`, facts);
    return { changed, replaced: false };
  }
  const busy = await whyBusy(ref, connection, driver);
  if (busy === null) log.warn(`${what}; a new one takes its place`, facts);
  else log.warn(`${what}; it is used as it is, because ${busy}`, facts);
  return { changed, replaced: busy === null };
}

/** In doubt it is busy. */
async function whyBusy(ref: SandboxRef, { daemon }: Connection, driver: SandboxDriver): Promise<string | null> {
  try {
    const status = daemon && (await daemonStatus(daemon.link));
    // One of the leases is ours.
    if (status && status.leases.length > 1) return "somebody else uses it";
    const counted = status ? status.calls + status.processes + status.ptys : 0;
    // A daemon does not count what a call has left running behind it.
    const running = counted > 0 || ((await driver.activity?.(ref)) ?? []).length > 0;
    return running ? "something runs in it" : null;
  } catch (error) {
    return `it cannot be told whether something runs in it (${describeError(error)})`;
  }
}
