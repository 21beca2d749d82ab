/** @module What containers that are gone have left on the host: sockets, secrets, records, and the files of their users. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { HoldfastError } from "../../../base/errors.ts";
import { listDirectory } from "../../../base/list-directory.ts";
import { taskSegment } from "../../../base/names.ts";
import type { Leftover, SandboxRef } from "../../driver.ts";
import { connectSocket } from "../shared/daemon-socket.ts";
import { RECORD_FILE, readRecord, type SandboxRecord } from "../shared/sandbox-record.ts";
import { OF_MAKERS, OF_REMOVERS, otherRuns, type Place, placeAt, placeOf, removeKept, removeUnused, runOf } from "./place.ts";
import type { RemoveTree } from "./remove-as-root.ts";

/** Somebody may be making a container at this moment. */
export const YOUNGEST_MS = 120_000;

export interface LeftoverOptions {
  readonly root: string;
  /** The directory with those of one profile. */
  readonly directory: string;
  /** Only those of this one. */
  readonly task?: string | undefined;
  /** Which one was asked for the containers: what others have is not gone. */
  readonly engine: string;
  /** All containers of that profile. */
  readonly refs: readonly SandboxRef[];
  /** What `recordedRuns` said before the engine was asked for them. */
  readonly recorded?: ReadonlySet<string>;
  readonly clock: Clock;
  readonly remove: RemoveTree;
}

export async function findLeftovers({
  root,
  directory,
  task,
  engine,
  refs,
  recorded = new Set(),
  clock,
  remove,
}: LeftoverOptions): Promise<Leftover[]> {
  const used = Map.groupBy(refs, (ref) => placeOf(root, ref.owner).directory);
  const names = listDirectory(directory).filter((name) => task === undefined || name === taskSegment(task));
  const found: Leftover[] = [];
  for (const name of names) {
    const place = placeAt(join(directory, name));
    if (isOfAnother(place, engine) || (await isLive(place, used.get(place.directory) ?? []))) continue;
    found.push(...leftIn(place, used.get(place.directory) ?? [], { before: clock.now() - YOUNGEST_MS, recorded, remove }));
  }
  return found;
}

/** Directories of containers whose making is over, however young they are: one that the engine does not have later is gone. */
export function recordedRuns(directory: string): ReadonlySet<string> {
  const places = listDirectory(directory).map((name) => placeAt(join(directory, name)));
  return new Set(
    places.flatMap((place) => {
      const record = recordIn(place.directory);
      return record ? [runOf(place, record)] : [];
    }),
  );
}

function isOfAnother({ directory }: Place, engine: string): boolean {
  const of = recordIn(directory)?.engine;
  return of !== undefined && of !== engine;
}

/** Somebody listens for whom this engine has no container: so another one has. */
export async function isLive(place: Place, refs: readonly SandboxRef[]): Promise<boolean> {
  for (const createdAt of otherRuns(place, refs)) {
    const socket = await connectSocket(runOf(place, { createdAt })).catch(() => "none" as const);
    if (typeof socket === "string") continue;
    socket.destroy();
    return true;
  }
  return false;
}

interface LeftInOptions extends Pick<LeftoverOptions, "remove"> {
  readonly before: number;
  readonly recorded: ReadonlySet<string>;
}

function leftIn(place: Place, refs: readonly SandboxRef[], { before, recorded, remove }: LeftInOptions): Leftover[] {
  const mayBeMade = (createdAt: number) => createdAt > before && !recorded.has(runOf(place, { createdAt }));
  const runs = otherRuns(place, refs);
  if (runs.some(mayBeMade)) return [];
  const inTheMaking = otherRuns(place, []).some((createdAt) => createdAt > before);
  const own = (path: string, why: string, files = false): Leftover => ({
    what: path,
    why,
    files,
    async remove() {
      if (refs.length === 0 && otherRuns(place, []).some(mayBeMade))
        throw new HoldfastError("busy", `${path} is used again: a sandbox of the task was made meanwhile`, { facts: { path } });
      await (files ? removeKept(path, remove) : remove(path));
      await removeUnused(place);
    },
  });
  const record = refs.length === 0 && existsSync(join(place.directory, RECORD_FILE));
  const whose = record ? recordIn(place.directory)?.task : undefined;
  const task = whose === undefined ? "" : ` of task ${whose}`;
  const kept = refs.length === 0 ? [place.workspace, place.home].filter((path) => existsSync(path)) : [];
  const left = [
    ...runs.map((createdAt) => own(runOf(place, { createdAt }), "the socket and state of a container that is gone")),
    ...listDirectory(place.directory)
      .filter((name) => OF_MAKERS.test(name) && !inTheMaking)
      .map((name) => own(join(place.directory, name), "a container was being made when its maker was killed")),
    ...listDirectory(place.directory)
      .filter((name) => OF_REMOVERS.test(name))
      .map((name) => own(join(place.directory, name), "a sandbox was being removed when its remover was killed")),
    ...(record ? [own(join(place.directory, RECORD_FILE), `the record${task}, whose container is gone`)] : []),
    ...kept.map((path) => own(path, `files${task} whose sandbox is gone; the next one of the task would have them`, true)),
  ];
  if (left.length > 0 || refs.length > 0) return left;
  return [{ what: place.directory, why: "a directory that was never used", files: false, remove: () => removeUnused(place) }];
}

/** A record that cannot be read says nothing, and must not keep the others from going. */
function recordIn(directory: string): SandboxRecord | null {
  try {
    return readRecord(directory);
  } catch (error) {
    if (!HoldfastError.isInstance(error)) throw error;
    return null;
  }
}
