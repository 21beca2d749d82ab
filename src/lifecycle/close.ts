/** @module The end of a host process's work: every sandbox is let go of by its rules, within a limit, and what is left is named. */
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Service } from "../base/service.ts";
import type { Owner } from "../sandbox/driver.ts";
import type { Registry } from "./registry.ts";
import type { Teardown } from "./teardown.ts";
import { problemWithin } from "./wait.ts";

export interface CloseReport {
  /** One sentence for each sandbox whose teardown failed or was not over in time. */
  readonly left: readonly string[];
}

export interface CloseOptions {
  registry: Registry;
  teardown: Teardown;
  services: readonly Service[];
  clock: Clock;
  log: Logger;
  /** For each sandbox; they are all waited for at the same time. */
  limitMs: number;
}

export async function closeEverything({ registry, teardown, services, clock, log, limitMs }: CloseOptions): Promise<CloseReport> {
  const within = (work: Promise<unknown>, late: () => string) => problemWithin(work, { clock, limitMs, late });
  const opening = registry.close();
  const stopping = services.map(async (service) => {
    const problem = await within(service.stop(), () => "its round was not over in time");
    if (problem !== null) log.warn(`the ${service.name} did not stop properly: ${problem}`);
  });
  for (const entry of registry.all()) begin(teardown.letGo(entry, "closed"));
  for (const ref of teardown.unremoved()) begin(teardown.remove(ref, "closed"));
  const problems = await Promise.all([
    ...teardown.pending().map(async (work) => sentence(work.ref.owner, await within(work.done, () => work.status))),
    ...opening.map(async (owner) => sentence(owner, await within(letGoOfOpened(owner), () => "it was still being opened"))),
  ]);
  await Promise.all(stopping);
  const left = [...new Set(problems.filter((problem) => problem !== null))];
  for (const problem of left) log.warn(problem);
  return { left };

  /** A backend that does not heed the cancellation opens it all the same. */
  async function letGoOfOpened(owner: Owner): Promise<void> {
    await registry.opening(owner);
    const entry = registry.get(owner);
    if (entry) await teardown.letGo(entry, "closed");
  }
}

/** It is pending from now on, and watched as such. */
function begin(work: Promise<unknown>): void {
  work.catch(() => {});
}

function sentence({ task }: Owner, problem: string | null): string | null {
  return problem && `the sandbox of task ${task} was left: ${problem}`;
}
