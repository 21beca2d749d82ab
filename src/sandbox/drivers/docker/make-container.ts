/** @module Making one container: its directory on the host, its command line, and what an engine's refusal means. */
import { existsSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { holdfastVersion } from "../../../base/version.ts";
import type { Abortable, Owner, SandboxRef } from "../../driver.ts";
import type { DriverContext } from "../../driver-context.ts";
import { fingerprint, type SandboxSpec, settingsOf } from "../../spec.ts";
import { readRecord, writeRecord } from "../shared/sandbox-record.ts";
import { type RunLine, runArgv } from "./argv.ts";
import type { CheckedEngine } from "./checked-engine.ts";
import { type Containers, failure, type ImageFacts } from "./containers.ts";
import { daemonFor, describeLoss } from "./daemon-fit.ts";
import type { EngineResult } from "./engine.ts";
import { classify } from "./engine-error.ts";
import type { RemoveHalfMade } from "./half-made.ts";
import type { Labels } from "./labels.ts";
import { createDiskKnowledge, leftOut, refusesDisk } from "./limits.ts";
import { makePlace, placeOf, removeRun, runOf } from "./place.ts";
import { callerIds, planRun } from "./plan-run.ts";
import { weakeningArgs } from "./weakening-args.ts";

const RUN_LIMIT_MS = 50_000;

export interface MakerOptions {
  readonly driver: string;
  readonly root: string;
  readonly labels: Labels;
  readonly containers: Containers;
  readonly context: DriverContext;
  engine(): Promise<CheckedEngine>;
  readonly removeHalfMade: RemoveHalfMade;
}

/** One attempt: the container, or null when another one has its name already. When it fails, nothing is left behind. */
export type MakeContainer = (owner: Owner, spec: SandboxSpec, image: ImageFacts, options: Abortable) => Promise<Made | null>;

export interface Made {
  readonly ref: SandboxRef;
  /** Whether holdfastd runs in it. */
  readonly daemon: boolean;
}

export function createMaker({ driver, root, labels, containers, engine, context, removeHalfMade }: MakerOptions): MakeContainer {
  const { daemonProgram, clock, log } = context;
  const disk = createDiskKnowledge(join(root, "no-disk-limit"), { clock, log });

  /** The one before it, if it was removed from outside, has left its socket and state. */
  const remember = async ({ id, owner, fingerprint: print, createdAt, persist, settings = {} }: SandboxRef): Promise<void> => {
    // The record is how others come to it, and one that does not persist is of this process alone.
    if (!persist) return;
    const place = placeOf(root, owner);
    const before = readRecord(place.directory);
    await writeRecord(place.directory, { version: 1, id, ...owner, fingerprint: print, createdAt, settings });
    if (before && before.id !== id && (await containers.find(before.id)) === null) await removeRun(place, before);
  };

  /** With a limit for the disk if the engine can, and without one if it cannot and need not. */
  const runWithin = async (limits: SandboxSpec["limits"], lineFor: (withDisk: boolean) => RunLine, { signal }: Abortable) => {
    const { program, run, facts } = await engine();
    const identity = `${program} ${(await facts()).version} ${context.hostEnv.DOCKER_HOST ?? ""}`;
    const attempt = async (withDisk: boolean): Promise<EngineResult> => {
      const line = lineFor(withDisk);
      return run(line.args, { limitMs: RUN_LIMIT_MS, signal, env: line.env });
    };
    const wanted = limits.diskMb > 0;
    if (wanted && !disk.cannot(identity)) {
      const result = await attempt(true);
      if (result.code === 0 || !refusesDisk(result.stderr)) return result;
      disk.learn(identity);
    }
    if (wanted)
      unlimited(
        `the disk cannot be limited to ${limits.diskMb} MB: the engine's storage has no such limit`,
        limits,
        "terminal.container_disk",
      );
    return attempt(false);
  };
  /** `key`: 0 there asks for no such limit. */
  const unlimited = (what: string, { strict }: SandboxSpec["limits"], key?: string): void => {
    const hint = `set ${key ? `${key} to 0, or ` : ""}terminal.container_limits to lenient`;
    if (strict) throw new HoldfastError("sandbox-create-failed", `${what}, and terminal.container_limits is strict`, { hint });
    log.warn(`${what}, so the sandbox has none${key ? ` (${key}: 0 asks for none)` : ""}`);
  };

  return async (owner, spec, image, options) => {
    const daemon = daemonFor(image, { daemonProgram, required: context.settings.daemon === "required" });
    const place = placeOf(root, owner);
    const print = fingerprint(spec);
    const base = labels.containerName(owner);
    const name = spec.persist ? base : `${base}-${randomId(4)}`;
    const mark = randomId(8);
    const [cidFile, envFile] = [join(place.directory, `cid-${mark}`), join(place.directory, `env-${mark}`)];
    const { quirks } = await (await engine()).facts(options);
    const createdAt = await makePlace(place, { keepFiles: spec.keepFiles, now: clock.now() });
    const weakened = weakeningArgs(spec.extraArgs, { network: spec.network });
    const { keepFiles, persist } = spec;
    const hostUser = spec.hostUser ? callerIds({ log }) : null;
    const told = { fingerprint: print, version: holdfastVersion(), keepFiles, persist, weakened, daemon: daemon !== null, createdAt };
    const lineFor = (diskSupported: boolean) =>
      runArgv(
        planRun({
          name,
          labels: labels.of(owner, told),
          spec,
          image,
          imageName: spec.image ?? context.settings.docker_image,
          place,
          runDir: runOf(place, { createdAt }),
          daemonProgram: daemon,
          hostUser,
          cidFile,
          envFile,
          diskSupported,
          quirks,
        }),
      );
    let made = false;
    try {
      const variables = lineFor(false).envFile;
      if (variables !== null) await writeFile(envFile, variables, { mode: 0o600 });
      const result = await runWithin(spec.limits, lineFor, options);
      const id = idFrom(result);
      if (id === null) return null;
      for (const line of leftOut(result.stderr)) unlimited(`the engine left a limit out (${line})`, spec.limits);
      const settings = settingsOf(spec);
      const ref: SandboxRef = { driver, id, owner, fingerprint: print, state: "running", createdAt, settings, persist };
      await remember(ref);
      made = true;
      if (daemon === null) log.warn(describeLoss(image, { daemonProgram, spec }), { task: owner.task, container: id });
      return { ref, daemon: daemon !== null };
    } finally {
      // A client that was cut short may not know it; a name that nobody else has leads there as well.
      const halfMade = idIn(cidFile) ?? (persist ? null : name);
      for (const path of [cidFile, envFile]) await rm(path, { force: true });
      if (!made) await removeHalfMade(halfMade, { owner, createdAt });
    }
  };
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
