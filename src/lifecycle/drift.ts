/** @module A sandbox that was made with other settings than those asked for now (S17). */
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { daemonStatus } from "../sandbox/daemon/status.ts";
import type { Connection, SandboxDriver, SandboxRef } from "../sandbox/driver.ts";
import { describeDifference, differences, type SandboxSpec } from "../sandbox/spec.ts";

/** Say so, put another one in its place unless it is busy, or say nothing. */
export type OnDrift = "warn" | "recreate" | "reuse";

export interface DriftOptions {
  driver: SandboxDriver;
  log: Logger;
  onDrift: OnDrift;
}

/** Whether the sandbox has to go before the spec can be had. Says what people should know. */
export async function mustGo(
  { ref, connection }: { ref: SandboxRef; connection: Connection },
  spec: SandboxSpec,
  { driver, log, onDrift }: DriftOptions,
): Promise<boolean> {
  if (onDrift === "reuse") return false;
  const changed = differences(ref, spec).map(describeDifference);
  if (changed.length === 0) return false;
  const { task } = ref.owner;
  const what = `the sandbox of task ${task} was made with other settings: ${changed.join(", ")}`;
  const facts = { sandbox: ref.id, task, changed };
  if (onDrift === "warn") {
    log.warn(`${what}; it is used as it is (\`holdfast sandbox reset ${task}\` makes a new one)`, facts);
    return false;
  }
  const busy = await whyBusy(ref, connection, driver);
  if (busy === null) log.warn(`${what}; a new one takes its place`, facts);
  else log.warn(`${what}; it is used as it is, because ${busy}`, facts);
  return busy === null;
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
