/** @module Sandboxes in containers, by docker or podman: one long-lived container each, found again by its name and labels. */
import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { throwIfAborted } from "../../../base/abort.ts";
import { describeError, HoldfastError, wrapError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { holdfastVersion } from "../../../base/version.ts";
import type { Abortable, Availability, Connection, Owner, SandboxDriver, SandboxRef } from "../../driver.ts";
import type { DriverContext } from "../../driver-context.ts";
import { fingerprint, type SandboxSpec } from "../../spec.ts";
import { proveLink } from "../shared/daemon-socket.ts";
import { isExecutable } from "../shared/host-connection.ts";
import { ownerMatches, sandboxGone } from "../shared/refs.ts";
import { readRecord, writeRecord } from "../shared/sandbox-record.ts";
import { runArgv } from "./argv.ts";
import { connectContainer, linkThroughSocket, relayStream, waitForSocket } from "./connect.ts";
import { createContainers, failure, type ImageFacts } from "./containers.ts";
import { createEngine, type Engine } from "./engine.ts";
import { classify } from "./engine-error.ts";
import { findEngine } from "./find-engine.ts";
import type { InspectedContainer } from "./inspect.ts";
import { createLabels } from "./labels.ts";
import { makePlace, placeOf, removePlace, removeRun, runOf } from "./place.ts";
import { planRun } from "./plan-run.ts";
import { type EngineFacts, type PreflightOptions, preflight } from "./preflight.ts";
import { createOrphanReaper } from "./reap-orphans.ts";
import { readTop } from "./top.ts";

const NAME = "docker";
const RUN_LIMIT_MS = 50_000;
const TOP_LIMIT_MS = 10_000;
const CREATE_ATTEMPTS = 5;

export function createDriver(context: DriverContext): SandboxDriver {
  const { sandboxDir, hostEnv, daemonProgram, settings, clock, log } = context;
  const root = join(sandboxDir, NAME);
  const labels = createLabels(settings.label_prefix);
  let found: Engine | undefined;
  const engine = async (): Promise<Engine> => {
    found ??= createEngine(
      findEngine({ override: context.variable("HOLDFAST_DOCKER_BINARY") ?? null, path: hostEnv.PATH ?? "", exists: isExecutable }),
      {
        env: hostEnv,
        clock,
      },
    );
    return found;
  };
  let known: EngineFacts | undefined;
  /** What it is does not change while we run; asking costs as much as any other command. */
  const facts = async (options: PreflightOptions): Promise<EngineFacts> => {
    known ??= await preflight(await engine(), options);
    return known;
  };
  const containers = createContainers(engine);
  const reapOrphans = createOrphanReaper({
    containers,
    labels,
    settings,
    clock,
    log,
    async onRemoved(owner, of) {
      const { createdAt } = labels.factsOf(of);
      if (createdAt !== null) await removeRun(placeOf(root, owner), { createdAt });
    },
  });

  const imageOf = ({ image }: SandboxSpec) => image ?? settings.docker_image;
  const toRef = (container: InspectedContainer, owner: Owner): SandboxRef => {
    const { fingerprint: print, createdAt } = labels.factsOf(container.labels);
    const state = container.state === "running" ? "running" : "stopped";
    return { driver: NAME, id: container.id, owner, fingerprint: print ?? "", state, createdAt: createdAt ?? container.startedAt ?? 0 };
  };
  const callVariables = (): Record<string, string> => {
    const values = settings.docker_forward_env.map((name) => [name, context.variable(name)] as const);
    return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
  };

  /** What one attempt at `run` came to: a container, or the one that has its name already. */
  const run = async (owner: Owner, spec: SandboxSpec, image: ImageFacts, { signal }: Abortable): Promise<SandboxRef | null> => {
    const place = placeOf(root, owner);
    const print = fingerprint(spec);
    const base = labels.containerName(owner);
    const name = spec.persist ? base : `${base}-${randomId(4)}`;
    const cidFile = join(place.directory, `cid-${randomId(8)}`);
    const { quirks } = await facts({ signal });
    const createdAt = await makePlace(place, { keepFiles: spec.keepFiles, now: clock.now() });
    const told = { fingerprint: print, version: holdfastVersion(), keepFiles: spec.keepFiles, createdAt };
    const line = runArgv(
      planRun({
        name,
        labels: labels.of(owner, told),
        spec,
        image,
        imageName: imageOf(spec),
        place,
        runDir: runOf(place, { createdAt }),
        daemonProgram: daemonProgram ?? "",
        cidFile,
        quirks,
      }),
    );
    let made = false;
    try {
      const { code, stderr, stdout } = await (await engine()).run(line.args, { limitMs: RUN_LIMIT_MS, signal, env: line.env });
      if (code === 0) {
        const ref: SandboxRef = { driver: NAME, id: stdout.trim(), owner, fingerprint: print, state: "running", createdAt };
        await remember(ref);
        made = true;
        return ref;
      }
      if (classify(stderr) !== "name-taken") throw failure("run", stderr);
      return null;
    } finally {
      if (!made) await removeHalfMade(cidFile, { owner, createdAt });
      await rm(cidFile, { force: true });
    }
  };
  /** The one before it, if it was removed from outside, has left its socket and state. */
  const remember = async ({ id, owner, fingerprint: print, createdAt }: SandboxRef): Promise<void> => {
    const place = placeOf(root, owner);
    const before = readRecord(place.directory);
    await writeRecord(place.directory, { version: 1, id, ...owner, fingerprint: print, createdAt });
    if (before && before.id !== id && (await containers.find(before.id)) === null) await removeRun(place, before);
  };
  const removeHalfMade = async (cidFile: string, of: Pick<SandboxRef, "owner" | "createdAt">): Promise<void> => {
    if (existsSync(cidFile)) await containers.remove(readFileSync(cidFile, "utf8").trim());
    await removeRun(placeOf(root, of.owner), of);
  };
  const byName = async (owner: Owner, options: Abortable): Promise<SandboxRef | null> => {
    const name = labels.containerName(owner);
    const container = await containers.find(name, options);
    if (container === null) return null;
    const theirs = labels.ownerOf(container.labels, owner);
    if (theirs) return toRef(container, owner);
    throw new HoldfastError("sandbox-create-failed", `a container that is not ours is called ${name}`, {
      hint: "rename or remove it",
      facts: { container: container.id, name },
    });
  };

  /** One that cannot be started any more makes way for a new one, and is left for people to look at. */
  const start = async (ref: SandboxRef, name: string): Promise<void> => {
    try {
      await containers.start(ref.id);
    } catch (error) {
      if (!HoldfastError.isInstance(error) || error.code !== "backend-broken") throw error;
      if ((await containers.find(ref.id)) === null) throw sandboxGone("sandbox-not-found", ref);
      const aside = `${name}-broken-${randomId(4)}`;
      log.warn("the container cannot be started, so it makes way for a new one", {
        container: ref.id,
        renamedTo: aside,
        task: ref.owner.task,
        error: describeError(error),
      });
      await containers.rename(ref.id, aside);
      throw sandboxGone("sandbox-not-found", ref);
    }
  };

  return {
    name: NAME,
    capabilities: { persistsAcrossProcesses: true, isolatesFiles: true, startDirectory: "/workspace", testOnly: false },

    async check({ signal } = {}): Promise<Availability> {
      try {
        const { program } = await engine();
        // Asked anew: whether it answers now is the question.
        known = undefined;
        const { kind, version } = await facts({ signal });
        return { status: "ready", detail: `${kind} ${version}, ${program}` };
      } catch (error) {
        const fix = HoldfastError.isInstance(error) ? error.hint : "see the message";
        return { status: "broken", reason: describeError(error), fix };
      }
    },

    async prepare(spec, { signal, onProgress } = {}) {
      const image = imageOf(spec);
      if ((await containers.image(image, signal ? { signal } : {})) !== null) return;
      onProgress?.(`pulling ${image}`);
      await containers.pull(image, {
        ...(signal && { signal }),
        limitMs: settings.docker_pull_timeout * 1000,
        onLine: (line) => onProgress?.(line),
      });
    },

    async create(owner, spec, options = {}) {
      throwIfAborted(options.signal, "the sandbox was not made");
      if (daemonProgram === null)
        throw new HoldfastError("daemon-missing", "containers need holdfastd, which was not built for this machine or is turned off");
      await reapOrphans(owner);
      const existing = spec.persist ? await byName(owner, options) : null;
      if (existing) return existing;
      const image = await containers.image(imageOf(spec), options);
      if (image === null) {
        throw new HoldfastError("sandbox-create-failed", `there is no image ${imageOf(spec)}`, { facts: { image: imageOf(spec) } });
      }
      for (let attempt = 0; attempt < CREATE_ATTEMPTS; attempt++) {
        const made = await run(owner, spec, image, options).catch((error: unknown) => {
          throw wrapError(error, "sandbox-create-failed", `the container of task ${owner.task} was not made`, {
            facts: { task: owner.task },
          });
        });
        // Null: somebody was quicker, and may already have removed it again.
        const either = made ?? (await byName(owner, options));
        if (either) return either;
      }
      throw new HoldfastError("sandbox-create-failed", `the container of task ${owner.task} was made and removed several times meanwhile`, {
        facts: { task: owner.task },
      });
    },

    async attach(owner) {
      const place = placeOf(root, owner);
      const record = readRecord(place.directory);
      if (record === null || !ownerMatches(record, owner)) return null;
      const link = await linkThroughSocket(runOf(place, record), { clock });
      if (link === null) return null;
      const { id, fingerprint: print, createdAt } = record;
      const ref: SandboxRef = { driver: NAME, id, owner, fingerprint: print, state: "running", createdAt };
      return { ref, connection: await connectContainer(link, { ref, restarted: false, callVariables: callVariables() }) };
    },

    async connect(ref, { signal } = {}): Promise<Connection> {
      throwIfAborted(signal, "the sandbox was not opened");
      const runDir = runOf(placeOf(root, ref.owner), ref);
      const container = await containers.find(ref.id, signal ? { signal } : {});
      if (container === null) throw sandboxGone("sandbox-not-found", ref);
      let restarted = false;
      if (container.state === "paused") await containers.unpause(ref.id);
      if (container.state === "stopped") {
        restarted = container.status !== "created";
        await start(ref, container.name);
      }
      const link =
        (await waitForSocket(ref.id, runDir, { containers, clock, signal })) ??
        (await proveLink(relayStream((await engine()).program, ref.id, hostEnv), { runDir, clock }));
      return connectContainer(link, { ref, restarted, callVariables: callVariables() });
    },

    async list(filter, options) {
      const all = await containers.list(labels.filterArgs(filter), options);
      return all.flatMap((container) => {
        const owner = labels.ownerOf(container.labels, filter);
        return owner ? [toRef(container, owner)] : [];
      });
    },

    async destroy(ref, { purge = false, ...options } = {}) {
      throwIfAborted(options.signal, "the sandbox was not removed");
      const container = await containers.find(ref.id, options);
      await containers.remove(ref.id, options);
      const keeps = container === null || labels.factsOf(container.labels).keepFiles !== false;
      const place = placeOf(root, ref.owner);
      const isRecorded = readRecord(place.directory)?.id === ref.id;
      if (container !== null || isRecorded) await removeRun(place, ref);
      // The directory may belong to a newer container of the same owner by now.
      if (!isRecorded && !purge) return;
      await removePlace(place, { files: purge || !keeps });
      log.info("sandbox removed", { sandbox: ref.id, task: ref.owner.task });
    },

    async activity(ref) {
      const { quirks } = await facts({});
      const { code, stdout } = await (await engine()).run(["top", ref.id, ...quirks.topArgs], { limitMs: TOP_LIMIT_MS });
      return code === 0 ? readTop(stdout, quirks) : [];
    },
  };
}
