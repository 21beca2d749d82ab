/** @module Which containers are ours, whose each of them is, and what is known about it besides what the engine says. */
import { HoldfastError } from "../../../base/errors.ts";
import type { Logger } from "../../../base/log.ts";
import type { Owner, SandboxDriver, SandboxRef } from "../../driver.ts";
import { sandboxDirectory } from "../shared/refs.ts";
import { readRecord, recordFrom, type SandboxRecord, writeRecord } from "../shared/sandbox-record.ts";
import type { CheckedEngine } from "./checked-engine.ts";
import type { Containers } from "./containers.ts";
import type { InspectedContainer } from "./inspect.ts";
import type { Labels, OwnerFilter } from "./labels.ts";
import { placeOf } from "./place.ts";

export interface FinderOptions {
  /** Of the driver. */
  readonly name: string;
  readonly root: string;
  readonly labels: Labels;
  readonly containers: Containers;
  readonly log: Logger;
  engine(): Promise<CheckedEngine>;
}

export interface Finder {
  list: SandboxDriver["list"];
  toRef(container: InspectedContainer, owner: Owner): SandboxRef;
  /** Null when it is not one of those that the filter asks for, or not ours at all. */
  ownerOf(container: InspectedContainer, filter: OwnerFilter): Owner | null;
  /** Null also when it cannot be read. */
  recordOf(owner: Owner): SandboxRecord | null;
  keepRecord(ref: SandboxRef): Promise<void>;
}

export function createFinder({ name, root, labels, containers, log, engine }: FinderOptions): Finder {
  const toRef = (container: InspectedContainer, owner: Owner): SandboxRef => {
    const { fingerprint: print, createdAt, persist } = labels.factsOf(container.labels);
    // A paused one is only asleep, with all that runs in it.
    const running = container.state !== "stopped";
    return {
      driver: name,
      id: container.id,
      owner,
      fingerprint: print ?? "",
      state: running ? "running" : "stopped",
      createdAt: createdAt ?? container.startedAt ?? 0,
      settings: settingsOf(container.id, owner),
      persist: persist ?? undefined,
      stoppedAt: running ? undefined : (container.finishedAt ?? undefined),
    };
  };
  /** A damaged one says nothing, and must not hide a container that is there, or keep another from being made. */
  const recordOf = (owner: Owner): SandboxRecord | null => {
    try {
      return readRecord(placeOf(root, owner).directory);
    } catch (error) {
      if (!HoldfastError.isInstance(error)) throw error;
      log.warn(`${error.message}; it is made anew from what the engine knows`, error.facts);
      return null;
    }
  };
  const settingsOf = (id: string, owner: Owner): SandboxRef["settings"] => {
    const record = recordOf(owner);
    return record?.id === id ? record.settings : undefined;
  };
  /** Labels alone do not tell: an image that was made from a sandbox hands them on to any container of it. */
  const ownerOf = (container: InspectedContainer, filter: OwnerFilter): Owner | null => {
    const owner = labels.ownerOf(container.labels, filter);
    if (owner === null || labels.factsOf(container.labels).version === null) return owner;
    const tail = `${sandboxDirectory(`/${name}`, owner)}/`;
    const named = container.name.startsWith(labels.containerName(owner));
    return named || container.sources.some((source) => source.includes(tail)) ? owner : null;
  };
  /** So that the next process comes to it without asking the engine. */
  const keepRecord = async (ref: SandboxRef): Promise<void> => {
    const record = recordOf(ref.owner);
    const { identity } = await engine();
    if (ref.persist === false || (record?.id === ref.id && record.engine === identity)) return;
    await writeRecord(placeOf(root, ref.owner).directory, recordFrom(ref, identity));
  };
  const list: Finder["list"] = async (filter, options) => {
    const all = await containers.list(labels.filterArgs(filter), options);
    return all.flatMap((container) => {
      const owner = ownerOf(container, filter);
      return owner ? [toRef(container, owner)] : [];
    });
  };

  return { list, toRef, ownerOf, recordOf, keepRecord };
}
