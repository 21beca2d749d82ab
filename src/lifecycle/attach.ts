/** @module Coming to a sandbox: look for it, else make it, then connect. */
import { describeError, HoldfastError } from "../base/errors.ts";
import type { Connection, Owner, SandboxRef } from "../sandbox/driver.ts";
import type { SandboxSpec } from "../sandbox/spec.ts";
import { type Drift, type DriftOptions, judgeDrift } from "./drift.ts";
import type { Origin } from "./entry.ts";

export interface Attached {
  readonly ref: SandboxRef;
  readonly connection: Connection;
  readonly origin: Origin;
  /** The one that was found was made with other settings. */
  readonly drift: Drift | null;
}

export interface AttachOptions extends DriftOptions {
  signal: AbortSignal;
  /** Removes a sandbox that was made but could not be used; reports its own failure. */
  discard(ref: SandboxRef): Promise<unknown>;
  /** Removes a sandbox that does not fit any more. */
  outdated(ref: SandboxRef): Promise<unknown>;
}

/** A sandbox that does not persist is never looked for: it is fresh, and of this process alone. */
export async function attach(owner: Owner, spec: SandboxSpec, options: AttachOptions): Promise<Attached> {
  const found = spec.persist ? await find(owner, options) : undefined;
  const drift = found ? await judgeDrift(found, spec, options) : null;
  if (found && !drift?.replaced) return { ...found, origin: "found", drift };
  {
    await using _connection = found?.connection;
    // What cannot be made must not cost the one that is there.
    await prepare(owner, spec, options);
    if (found) await options.outdated(found.ref);
  }
  // Somebody may remove it between the two steps; twice in a row is no accident.
  const made = (await make(owner, spec, options)) ?? (await make(owner, spec, options));
  if (made) return found ? { ...made, drift, ref: { ...made.ref, replaces: found.ref.id } } : made;
  throw new HoldfastError("sandbox-create-failed", `the sandbox of task ${owner.task} was removed twice while it was being opened`, {
    facts: { task: owner.task, profile: owner.profile },
  });
}

async function find(owner: Owner, options: AttachOptions): Promise<Omit<Attached, "origin" | "drift"> | undefined> {
  const near = await options.driver.attach?.(owner, { signal: options.signal });
  if (near) return near;
  const ref = await look(owner, options);
  const connection = ref && (await connect(ref, options));
  return connection && { ref, connection };
}

async function look(owner: Owner, { driver, log, signal }: AttachOptions): Promise<SandboxRef | undefined> {
  try {
    const refs = (await driver.list(owner, { signal })).filter(({ persist }) => persist !== false);
    // Running before stopped, then the oldest: every process must choose the same one.
    return refs.toSorted((a, b) => rank(a) - rank(b) || a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))[0];
  } catch (error) {
    if (signal.aborted || isSilent(error)) throw error;
    log.warn("cannot look for an existing sandbox, so one is asked for without looking", {
      task: owner.task,
      backend: driver.name,
      error: describeError(error),
    });
    return undefined;
  }
}

/** A backend that is not there or does not answer makes no sandbox either, and asking it again would only take as long. */
function isSilent(error: unknown): boolean {
  return HoldfastError.isInstance(error) && (error.code === "engine-not-responding" || error.code === "engine-not-found");
}

function rank({ state }: SandboxRef): number {
  return state === "running" ? 0 : 1;
}

/** Undefined when the sandbox is gone. */
async function connect(ref: SandboxRef, { driver, log, signal }: AttachOptions): Promise<Connection | undefined> {
  try {
    return await driver.connect(ref, { signal });
  } catch (error) {
    // Lost: somebody removed it after it had been found.
    if (!HoldfastError.isInstance(error) || !["sandbox-not-found", "sandbox-lost"].includes(error.code)) throw error;
    log.warn("the sandbox was removed before it could be opened", { sandbox: ref.id, task: ref.owner.task });
    return undefined;
  }
}

async function prepare(owner: Owner, spec: SandboxSpec, { driver, log, signal }: AttachOptions): Promise<void> {
  await driver.prepare?.(owner, spec, { signal, onProgress: (line) => log.info(line, { task: owner.task }) });
}

async function make(owner: Owner, spec: SandboxSpec, options: AttachOptions): Promise<Attached | undefined> {
  const { driver, signal } = options;
  const ref = await driver.create(owner, spec, { signal });
  try {
    const connection = await connect(ref, options);
    return connection && { ref, connection, origin: "created", drift: null };
  } catch (error) {
    // A persistent one is found by the next use; another one nobody would ever find.
    if (!spec.persist) await options.discard(ref).catch(() => {});
    throw error;
  }
}
