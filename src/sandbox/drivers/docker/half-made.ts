/** @module What a creation that failed has left, on the engine and on the host. */
import { describeError } from "../../../base/errors.ts";
import type { Logger } from "../../../base/log.ts";
import type { SandboxRef } from "../../driver.ts";
import { readRecord } from "../shared/sandbox-record.ts";
import type { Containers } from "./containers.ts";
import { placeOf, removePlace, removeRun, removeUnused } from "./place.ts";
import type { RemoveTree } from "./remove-as-root.ts";

export interface HalfMadeOptions {
  readonly root: string;
  readonly containers: Containers;
  readonly log: Logger;
  readonly remove: RemoveTree;
}

/** Its id or name; null when there is no container yet. Never fails, because why nothing was made matters more. */
export type RemoveHalfMade = (id: string | null, of: Pick<SandboxRef, "owner" | "createdAt">) => Promise<void>;

export function createHalfMadeRemover({ root, containers, log, remove }: HalfMadeOptions): RemoveHalfMade {
  return async (id, of) => {
    const place = placeOf(root, of.owner);
    try {
      if (id !== null) await containers.remove(id);
      await removeRun(place, of, remove);
      if (id !== null && readRecord(place.directory)?.id === id) await removePlace(place, { files: false, remove });
      await removeUnused(place);
    } catch (error) {
      log.warn("what a creation that failed has left could not be removed", { task: of.owner.task, error: describeError(error) });
    }
  };
}
