/** @module Finding the sandbox of a task, or using it. */
import { untilAborted } from "../base/abort.ts";
import { HoldfastError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { Lease } from "../lifecycle/lifecycle.ts";
import type { SandboxRef } from "../sandbox/driver.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { App } from "./create-app.ts";

/** The sandbox of the task, made if it is not there. */
export async function useSandbox(app: App, task: string, signal?: AbortSignal): Promise<Lease> {
  const parts = app.forTask(task).then((own) => Promise.all([own.lifecycle(), own.owner(task), own.spec()]));
  const [lifecycle, owner, spec] = await untilAborted(parts, signal, "the call was cancelled before the command ran");
  return lifecycle.acquire(owner, spec, signal ? { signal } : {});
}

/** The sandbox of the task as it is: for whoever only looks. @throws `sandbox-not-found`, `sandbox-stopped` */
export async function visitSandbox(app: App, task: string): Promise<Sandbox> {
  const ref = await existingSandbox(app, task);
  return (await (await app.forTask(task)).lifecycle()).visit(ref);
}

/** Null when the task has none; nothing is made. */
export async function findSandbox(app: App, task: string): Promise<SandboxRef | null> {
  const own = await app.forTask(task);
  const [driver, owner] = await Promise.all([own.driver(), own.owner(task)]);
  const refs = await driver.list(owner);
  return refs.find(({ state }) => state === "running") ?? refs[0] ?? null;
}

/** @throws `sandbox-not-found`, with the task that was probably meant. */
export async function existingSandbox(app: App, task: string): Promise<SandboxRef> {
  const ref = await findSandbox(app, task);
  if (ref) return ref;
  const own = await app.forTask(task);
  const [driver, owner] = await Promise.all([own.driver(), own.owner(task)]);
  const others = await driver.list({ install: owner.install, profile: owner.profile });
  const meant = suggest(task, new Set(others.map((other) => other.owner.task)));
  throw new HoldfastError("sandbox-not-found", `profile ${owner.profile} has no sandbox for task ${task} on the ${driver.name} backend`, {
    hint: meant && `did you mean "${meant}"?`,
    facts: { task, profile: owner.profile, backend: driver.name },
  });
}
