/** @module Making one container: its directory on the host, its command line, and what an engine's refusal means. */
import { existsSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { holdfastVersion } from "../../../base/version.ts";
import type { Abortable, Owner, SandboxRef } from "../../driver.ts";
import type { DriverContext } from "../../driver-context.ts";
import { fingerprint, NOT_LIMITABLE, type SandboxSpec, settingsOf } from "../../spec.ts";
import { recordFrom, type SandboxRecord, writeRecord } from "../shared/sandbox-record.ts";
import { runArgv } from "./argv.ts";
import type { CheckedEngine } from "./checked-engine.ts";
import { createUserLookup, userOf } from "./container-user.ts";
import { type Containers, failure, type ImageFacts } from "./containers.ts";
import { copyDaemon } from "./daemon-copy.ts";
import { daemonFor, describeLoss } from "./daemon-fit.ts";
import type { EngineResult } from "./engine.ts";
import { classify } from "./engine-error.ts";
import { createGiver } from "./give-as-root.ts";
import type { RemoveHalfMade } from "./half-made.ts";
import type { Labels } from "./labels.ts";
import { createLimitedRun, type LineFor } from "./limited-run.ts";
import type { DiskKnowledge } from "./limits.ts";
import { takeName } from "./own-args.ts";
import { BIN, makePlace, type Place, placeOf, removeRun, runOf } from "./place.ts";
import { callerIds, planRun } from "./plan-run.ts";
import type { RemoveTree } from "./remove-as-root.ts";
import { reachesHost, weakeningArgs } from "./weakening-args.ts";

export interface MakerOptions {
  readonly driver: string;
  readonly root: string;
  readonly labels: Labels;
  readonly containers: Containers;
  readonly context: DriverContext;
  readonly disk: DiskKnowledge;
  engine(): Promise<CheckedEngine>;
  /** Null also when it cannot be read. */
  recordOf(owner: Owner): SandboxRecord | null;
  readonly remove: RemoveTree;
  readonly removeHalfMade: RemoveHalfMade;
}

/** One attempt: the container, or null when another one has its name already. When it fails, nothing is left behind. */
export type MakeContainer = (owner: Owner, spec: SandboxSpec, image: ImageFacts, options: Abortable) => Promise<Made | null>;

export interface Made {
  readonly ref: SandboxRef;
  /** Whether holdfastd runs in it. */
  readonly daemon: boolean;
}

export function createMaker({
  driver,
  root,
  labels,
  containers,
  disk,
  engine,
  context,
  recordOf,
  remove,
  removeHalfMade,
}: MakerOptions): MakeContainer {
  const { daemonProgram, clock, log } = context;
  const idsOf = createUserLookup(engine);
  const giveTo = createGiver({ engine, log });
  const runWithin = createLimitedRun({ engine, disk, isSet: context.isSet, log });

  /** The id of the one before it, if that was removed from outside; it has left its socket and state. */
  const remember = async (ref: SandboxRef): Promise<string | undefined> => {
    // The record is how others come to it, and one that does not persist is of this process alone.
    if (!ref.persist) return undefined;
    const { id, owner } = ref;
    const place = placeOf(root, owner);
    const before = recordOf(owner);
    const { identity } = await engine();
    await writeRecord(place.directory, recordFrom(ref, identity));
    const here = before !== null && before.id !== id && (before.engine ?? identity) === identity;
    if (!here || (await containers.find(before.id)) !== null) return undefined;
    await removeRun(place, before, remove).catch((error: unknown) => {
      log.warn(`what the container before it has left could not be removed: ${describeError(error)}`, { task: owner.task });
    });
    return before.id;
  };

  /** Null: without one. */
  const daemonIn = async (image: ImageFacts): Promise<string | null> => {
    const program = daemonFor(image, { daemonProgram, required: context.settings.daemon === "required" });
    return program && copyDaemon(program, join(root, BIN));
  };
  const callerOf = ({ hostUser }: SandboxSpec) => (hostUser ? callerIds({ log }) : null);

  return async (owner, spec, image, options) => {
    const daemon = await daemonIn(image);
    const place = placeOf(root, owner);
    const print = fingerprint(spec);
    const { name: given, others: extraArgs } = takeName(spec.extraArgs);
    const name = nameOf(given ?? labels.containerName(owner), spec);
    const mark = randomId(8);
    const [cidFile, envFile] = [join(place.directory, `cid-${mark}`), join(place.directory, `env-${mark}`)];
    const { quirks } = await (await engine()).facts(options);
    // Once: it has a word to say on some platforms.
    const hostUser = callerOf(spec);
    const userIds = await idsOf(userOf(image, { hostUser, extraArgs: spec.extraArgs }), image, options);
    const createdAt = await makePlace(place, { keepFiles: spec.keepFiles, now: clock.now() });
    const { keepFiles, persist } = spec;
    const weakened = weakenedBy(spec);
    const told = { fingerprint: print, version: holdfastVersion(), keepFiles, persist, weakened, daemon: daemon !== null, createdAt };
    const lineFor: LineFor = (limits) =>
      runArgv(
        planRun({
          name,
          labels: labels.of(owner, told),
          spec: { ...spec, limits, extraArgs },
          image,
          imageName: spec.image ?? context.settings.docker_image,
          place,
          runDir: runOf(place, { createdAt }),
          daemonProgram: daemon,
          hostUser,
          userIds,
          cidFile,
          envFile,
          quirks,
        }),
      );
    let made = false;
    try {
      if (keepFiles) await giveTo(place, userIds, image.id);
      const variables = lineFor(spec.limits).envFile;
      if (variables !== null) await writeFile(envFile, variables, { mode: 0o600 });
      const result = await runWithin(spec.limits, lineFor, options);
      // Somebody who removed the sandbox before this one has taken the directories away at the same moment.
      const id = isWhole(place, { createdAt, keepFiles }) ? idFrom(result) : null;
      if (id === null) return null;
      const settings = { ...settingsOf(spec), ...Object.fromEntries(result.unlimited.map((limit) => [limit, NOT_LIMITABLE])) };
      const ref: SandboxRef = { driver, id, owner, fingerprint: print, state: "running", createdAt, settings, persist };
      const replaces = await remember(ref);
      made = true;
      if (daemon === null) log.warn(describeLoss(image, { daemonProgram, spec }), { task: owner.task, container: id });
      return { ref: { ...ref, replaces }, daemon: daemon !== null };
    } finally {
      // A client that was cut short may not know it; a name that nobody else has leads there as well.
      const halfMade = idIn(cidFile) ?? (persist ? null : name);
      for (const path of [cidFile, envFile]) await rm(path, { force: true });
      if (!made) await removeHalfMade(halfMade, { owner, createdAt });
    }
  };
}

function nameOf(base: string, { persist }: SandboxSpec): string {
  return persist ? base : `${base}-${randomId(4)}`;
}

/** What the user's own settings take away from the hardening. */
function weakenedBy({ extraArgs, network, mounts }: SandboxSpec): string[] {
  const mounted = mounts.filter(({ source }) => reachesHost(source)).map(({ source, target }) => `${source}:${target}`);
  return [...weakeningArgs(extraArgs, { network }), ...mounted];
}

/** Null when another one has its name already. */
function idFrom({ code, stdout, stderr }: EngineResult): string | null {
  if (code === 0) return stdout.trim();
  if (classify(stderr) === "name-taken") return null;
  throw failure("run", stderr, { code: "sandbox-create-failed" });
}

/** The client makes the file first, and writes to it when it knows what. */
function idIn(cidFile: string): string | null {
  return (existsSync(cidFile) && readFileSync(cidFile, "utf8").trim()) || null;
}

function isWhole(place: Place, { createdAt, keepFiles }: { createdAt: number; keepFiles: boolean }): boolean {
  return [runOf(place, { createdAt }), ...(keepFiles ? [place.workspace, place.home] : [])].every((path) => existsSync(path));
}
