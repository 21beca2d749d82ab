/** @module What containers that are gone have left on the host: sockets, secrets, records, and the files of their users. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { HoldfastError } from "../../../base/errors.ts";
import { listDirectory } from "../../../base/list-directory.ts";
import { removeTree } from "../../../base/remove-tree.ts";
import type { Leftover, SandboxRef } from "../../driver.ts";
import { RECORD_FILE, readRecord } from "../shared/sandbox-record.ts";
import { OF_MAKERS, type Place, placeAt, placeOf, removeUnused, runOf } from "./place.ts";

/** Somebody may be making a container at this moment. */
const YOUNGEST_MS = 120_000;

export interface LeftoverOptions {
  readonly root: string;
  /** The directory with those of one profile. */
  readonly directory: string;
  /** All containers of that profile. */
  readonly refs: readonly SandboxRef[];
  readonly clock: Clock;
}

export function findLeftovers({ root, directory, refs, clock }: LeftoverOptions): Leftover[] {
  const used = new Map(refs.map((ref) => [placeOf(root, ref.owner).directory, [] as SandboxRef[]]));
  for (const ref of refs) used.get(placeOf(root, ref.owner).directory)?.push(ref);
  return listDirectory(directory).flatMap((name) => {
    const place = placeAt(join(directory, name));
    return leftIn(place, used.get(place.directory) ?? [], clock.now() - YOUNGEST_MS);
  });
}

function leftIn(place: Place, refs: readonly SandboxRef[], before: number): Leftover[] {
  const all = listDirectory(join(place.directory, "run")).map(Number);
  const runs = all.filter((createdAt) => refs.every((ref) => ref.createdAt !== createdAt));
  if (runs.some((createdAt) => createdAt > before)) return [];
  const inTheMaking = all.some((createdAt) => createdAt > before);
  const own = (path: string, why: string, files = false): Leftover => ({
    what: path,
    why,
    files,
    async remove() {
      if (refs.length === 0 && listDirectory(join(place.directory, "run")).some((name) => Number(name) > before))
        throw new HoldfastError("busy", `${path} is used again: a sandbox of the task was made meanwhile`, { facts: { path } });
      await removeTree(path);
      await removeUnused(place);
    },
  });
  const record = refs.length === 0 && existsSync(join(place.directory, RECORD_FILE));
  const task = record ? taskOf(place) : "";
  const kept = refs.length === 0 ? [place.workspace, place.home].filter((path) => existsSync(path)) : [];
  const left = [
    ...runs.map((createdAt) => own(runOf(place, { createdAt }), "the socket and state of a container that is gone")),
    ...listDirectory(place.directory)
      .filter((name) => OF_MAKERS.test(name) && !inTheMaking)
      .map((name) => own(join(place.directory, name), "a container was being made when its maker was killed")),
    ...(record ? [own(join(place.directory, RECORD_FILE), `the record${task}, whose container is gone`)] : []),
    ...kept.map((path) => own(path, `files${task} whose sandbox is gone; the next one of the task would have them`, true)),
  ];
  if (left.length > 0 || refs.length > 0) return left;
  return [{ what: place.directory, why: "a directory that was never used", files: false, remove: () => removeUnused(place) }];
}

/** A record that cannot be read says nothing, and must not keep the others from going. */
function taskOf({ directory }: Place): string {
  try {
    return ` of task ${readRecord(directory)?.task}`;
  } catch (error) {
    if (!HoldfastError.isInstance(error)) throw error;
    return "";
  }
}
