/** @module Removes our own containers that ended long ago, once per process, before the first one is made (S28). */
import type { Audit } from "../../../base/audit.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { Logger } from "../../../base/log.ts";
import type { Owner } from "../../driver.ts";
import type { DriverSettings } from "../../driver-context.ts";
import type { Containers } from "./containers.ts";
import type { InspectedContainer } from "./inspect.ts";
import type { ContainerLabels, Labels, OwnerFilter } from "./labels.ts";

const SHORTEST_LIFETIME_SECONDS = 60;

export interface OrphanReaperOptions {
  readonly containers: Containers;
  readonly labels: Labels;
  readonly settings: DriverSettings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly audit: Audit;
  /** Of the whole process. */
  readonly swept: Set<string>;
  /** Null when it is not one of ours. */
  ownerOf(container: InspectedContainer, filter: OwnerFilter): Owner | null;
  /** Clears what a container had on the host. */
  onRemoved(owner: Owner, labels: ContainerLabels): Promise<void>;
}

/** How long ago a container must have ended. */
export function orphanAgeMs({ lifetime_seconds }: Pick<DriverSettings, "lifetime_seconds">): number {
  return 2 * Math.max(SHORTEST_LIFETIME_SECONDS, lifetime_seconds) * 1000;
}

/** Never fails: an engine that does means that nothing was removed. Returns how many were. */
export function createOrphanReaper({ containers, labels, settings, clock, log, audit, swept, ownerOf, onRemoved }: OrphanReaperOptions) {
  const oldestMs = orphanAgeMs(settings);
  return async ({ install, profile }: Owner): Promise<number> => {
    if (swept.has(install) || !settings.docker_orphan_reaper) return 0;
    swept.add(install);
    let removed = 0;
    try {
      for (const container of await containers.list([...labels.filterArgs({ install, profile }), "--filter", "status=exited"])) {
        const { id, status, finishedAt, labels: theirs } = container;
        const owner = ownerOf(container, { install, profile });
        // An age that cannot be read means: leave it.
        if (owner === null || status !== "exited" || finishedAt === null || clock.now() - finishedAt <= oldestMs) continue;
        const entry = { what: "removed", sandbox: id, backend: "docker", profile, task: owner.task, reason: "orphaned" } as const;
        try {
          await containers.remove(id, { ended: true });
          removed++;
          audit(entry);
          await onRemoved(owner, theirs);
          log.warn(
            `the sandbox of task ${owner.task}, which had been stopped since ${new Date(finishedAt).toISOString()}, was removed (terminal.docker_orphan_reaper)`,
            { container: id, task: owner.task },
          );
        } catch (error) {
          audit({ ...entry, error: describeError(error) });
          log.warn("an orphaned container was not removed", { container: id, error: describeError(error) });
        }
      }
    } catch (error) {
      log.warn("orphaned containers were not looked for", { error: describeError(error) });
    }
    return removed;
  };
}
