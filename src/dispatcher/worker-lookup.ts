/** @module How the workers of profiles are started, read once for each pass. */
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { Unspawnable } from "./result.ts";
import { createTroubleReport, type TroubleReport } from "./trouble-report.ts";
import type { WorkerDirectory, WorkerSettings } from "./worker.ts";

export type FoundWorker =
  | { readonly worker: WorkerSettings }
  | { readonly missing: Extract<Unspawnable, "no_profile" | "no_command" | "unreadable"> };

export type WorkerLookup = (profile: string) => Promise<FoundWorker>;

/** Each call gives a lookup that remembers what it has read. */
export function createWorkerLookups(workers: WorkerDirectory, log: Logger): () => WorkerLookup {
  const troubles = createTroubleReport();
  return () => {
    const known = new Map<string, Promise<FoundWorker>>();
    return (profile) => {
      const found = known.get(profile) ?? find(workers, profile, { troubles, log });
      known.set(profile, found);
      return found;
    };
  };
}

async function find(
  workers: WorkerDirectory,
  profile: string,
  { troubles, log }: { troubles: TroubleReport; log: Logger },
): Promise<FoundWorker> {
  try {
    const worker = await workers.settingsOf(profile);
    troubles.ends(profile);
    if (worker === null) return { missing: "no_profile" };
    return worker.command.length === 0 ? { missing: "no_command" } : { worker };
  } catch (error) {
    const trouble = describeError(error);
    if (troubles.begins(profile, trouble))
      log.error(`the configuration of ${profile} cannot be read, so its tasks wait: ${trouble}`, { profile });
    return { missing: "unreadable" };
  }
}
