/** @module Sandboxes in containers, by docker or podman: one long-lived container each, found again by its name and labels. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { throwIfAborted } from "../../../base/abort.ts";
import { delay } from "../../../base/clock.ts";
import { describeError, HoldfastError, wrapError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import type { DaemonLink } from "../../daemon/link.ts";
import { irreplaceable, isOlder, retire } from "../../daemon/older.ts";
import type { Abortable, Availability, Connection, Owner, SandboxDriver, SandboxRef } from "../../driver.ts";
import type { DriverContext } from "../../driver-context.ts";
import type { SandboxSpec } from "../../spec.ts";
import { daemonFailed, makeSecret, proveLink } from "../shared/daemon-socket.ts";
import { isExecutable } from "../shared/host-connection.ts";
import { ownerMatches, profileDirectory, sandboxGone } from "../shared/refs.ts";
import { accessTo } from "./access.ts";
import { type CheckedEngine, checkEngine } from "./checked-engine.ts";
import { connectContainer, linkThroughSocket, relayStream, waitForSocket, wasOpened } from "./connect.ts";
import { createContainers, type ImageFacts } from "./containers.ts";
import { renewDaemon } from "./daemon-copy.ts";
import { describeContainer } from "./describe.ts";
import { disarm } from "./disarm.ts";
import { createEngine } from "./engine.ts";
import { connectThroughExec } from "./exec/connection.ts";
import { findEngine } from "./find-engine.ts";
import { createFinder } from "./finder.ts";
import { createHalfMadeRemover } from "./half-made.ts";
import type { InspectedContainer } from "./inspect.ts";
import { keepToUser } from "./keep-to-user.ts";
import { createLabels } from "./labels.ts";
import { findLeftovers, isLive, recordedRuns, YOUNGEST_MS } from "./leftovers.ts";
import { createDiskKnowledge, engineVersion } from "./limits.ts";
import { createMaker } from "./make-container.ts";
import { makeSources } from "./mount-sources.ts";
import { refuseOwnArgs, takeName } from "./own-args.ts";
import { BIN, otherRuns, placeOf, removePlace, removeRun, removeUnused, runOf } from "./place.ts";
import { createOrphanReaper } from "./reap-orphans.ts";
import { createTreeRemover } from "./remove-as-root.ts";
import { readTop } from "./top.ts";
import { reachesHost, weakeningArgs } from "./weakening-args.ts";

const NAME = "docker";
const TOP_LIMIT_MS = 10_000;
const CREATE_ATTEMPTS = 5;
const SUCCESSION_ATTEMPTS = 200;
const SUCCESSION_PAUSE_MS = 50;
/** The second is what Hermes calls it. */
const ENGINE_VARIABLES = ["HOLDFAST_DOCKER_BINARY", "HERMES_DOCKER_BINARY"];
const NO_DISK_LIMIT =
  "new sandboxes have no limit of their disk, because the engine's storage has none: terminal.container_disk has no effect";

export function createDriver(context: DriverContext): SandboxDriver {
  const { sandboxDir, hostEnv, daemonProgram, settings, audit, swept, clock, log } = context;
  const root = join(sandboxDir, NAME);
  const labels = createLabels(settings.label_prefix);
  let found: CheckedEngine | undefined;
  const engine = async (): Promise<CheckedEngine> => {
    const [override = null] = ENGINE_VARIABLES.flatMap((name) => {
      const value = context.variable(name);
      return value ? { name, value } : [];
    });
    found ??= checkEngine(createEngine(findEngine({ override, path: hostEnv.PATH ?? "", exists: isExecutable }), { env: hostEnv, clock }), {
      env: hostEnv,
      // Under another prefix the same engine shows other containers.
      labels: settings.label_prefix,
    });
    return found;
  };
  const containers = createContainers(engine);
  const { list, toRef, ownerOf, recordOf, keepRecord } = createFinder({ name: NAME, root, labels, containers, log, engine });
  const removerWith = (image: string) => createTreeRemover({ engine, image });
  const remove = removerWith(settings.docker_image);
  const reapOrphans = createOrphanReaper({
    containers,
    labels,
    settings,
    clock,
    log,
    audit,
    swept,
    ownerOf,
    async onRemoved(owner, of) {
      const { createdAt } = labels.factsOf(of);
      const place = placeOf(root, owner);
      if (createdAt !== null) await removeRun(place, { createdAt }, remove);
      if (recordOf(owner)?.createdAt === createdAt) await removePlace(place, { files: false, remove });
      await removeUnused(place);
    },
  });

  const imageOf = ({ image }: SandboxSpec) => image ?? settings.docker_image;
  const weakenings = () => [
    ...weakeningArgs(settings.docker_extra_args, { network: settings.docker_network }).map(
      (argument) => `docker_extra_args weakens the hardening of new sandboxes: ${argument}`,
    ),
    ...settings.docker_volumes
      .filter((entry) => reachesHost(entry.split(":")[0] ?? ""))
      .map((entry) => `docker_volumes gives new sandboxes a part of the host itself: ${entry}`),
  ];
  const callVariables = (): Record<string, string> => {
    const values = settings.docker_forward_env.map((name) => [name, context.variable(name)] as const);
    return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
  };

  // What `prepare` found is what `create` asks for next.
  const images = new Map<string, ImageFacts>();
  // Just made, and so running: asking the engine again would only take time.
  const fresh = new Set<string>();
  const own = new Set<string>();
  const removeHalfMade = createHalfMadeRemover({ root, containers, log, remove });
  /** One that ended before anybody had been in it holds nothing, and would only end again. */
  const removeUnusable = async (error: unknown, ref: SandboxRef): Promise<never> => {
    const ended = HoldfastError.isInstance(error) && error.code === "sandbox-create-failed";
    // Only one that was made here: others may hold what somebody needs.
    if (ended && own.has(ref.id) && !wasOpened(runOf(placeOf(root, ref.owner), ref))) await removeHalfMade(ref.id, ref);
    throw error;
  };
  const disk = createDiskKnowledge(join(root, "no-disk-limit"), { clock, log });
  const make = createMaker({ driver: NAME, root, labels, containers, disk, engine, context, recordOf, remove, removeHalfMade });
  /** One that is there needs no image any more. */
  const withoutImage = async (owner: Owner, spec: SandboxSpec, options: Abortable): Promise<SandboxRef> => {
    const existing = spec.persist ? await byName(owner, spec, options) : null;
    if (existing) return existing;
    throw new HoldfastError("sandbox-create-failed", `there is no image ${imageOf(spec)}`, { facts: { image: imageOf(spec) } });
  };
  const byName = async (owner: Owner, spec: SandboxSpec, options: Abortable): Promise<SandboxRef | null> => {
    const { name: given } = takeName(spec.extraArgs);
    const name = given ?? labels.containerName(owner);
    const container = await containers.find(name, options);
    if (container === null) return null;
    if (ownerOf(container, owner)) return toRef(container, owner);
    throw new HoldfastError("sandbox-create-failed", `a container that is not ours is called ${name}`, {
      hint: given
        ? "each task has a container of its own: leave --name out of docker_extra_args, or rename that one"
        : "rename or remove it",
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

  /** Whether what ran in it before is gone. */
  const wake = async (ref: SandboxRef, { state, status, name, sources }: InspectedContainer): Promise<boolean> => {
    if (state === "paused") await containers.unpause(ref.id);
    if (state !== "stopped") return false;
    const runDir = runOf(placeOf(root, ref.owner), ref);
    // Whatever ran in it may have removed it, and then it could never start again.
    if (existsSync(runDir)) await makeSecret(runDir, { mode: 0o644 });
    if (daemonProgram !== null) await renewDaemon(daemonProgram, { sources, directory: join(root, BIN) });
    await start(ref, name);
    return status !== "created";
  };
  /** Nobody is kept from a sandbox that cannot be closed. */
  const opened = async (connection: Connection, of: Pick<SandboxRef, "owner" | "createdAt">): Promise<Connection> => {
    await keepToUser(placeOf(root, of.owner), of).catch((error: unknown) => {
      log.warn("what the sandbox shares with the host could not be closed to other users in it", {
        task: of.owner.task,
        error: describeError(error),
      });
    });
    return connection;
  };
  /** Null when it runs, but cannot be reached from here. */
  const socketOf = (ref: SandboxRef, { signal }: { signal: AbortSignal | undefined }): Promise<DaemonLink | null> => {
    const runDir = runOf(placeOf(root, ref.owner), ref);
    return waitForSocket(ref.id, runDir, { containers, clock, signal }).catch((error: unknown) => removeUnusable(error, ref));
  };

  const reach = async (ref: SandboxRef, { signal }: { signal: AbortSignal | undefined }): Promise<DaemonLink> => {
    const near = await socketOf(ref, { signal });
    if (near) await keepRecord(ref);
    const runDir = runOf(placeOf(root, ref.owner), ref);
    return near ?? proveLink(relayStream((await engine()).program, ref.id, hostEnv), { runDir, clock });
  };
  /** Null: the container has not ended yet, or somebody else is starting it. */
  const startedAnew = async (ref: SandboxRef, { signal }: { signal: AbortSignal | undefined }): Promise<DaemonLink | null> => {
    throwIfAborted(signal, "the sandbox was not opened");
    const container = await containers.find(ref.id, signal ? { signal } : {});
    if (container === null) throw sandboxGone("sandbox-not-found", ref);
    const stopped = container.state === "stopped";
    if (stopped) await wake(ref, container);
    const runDir = runOf(placeOf(root, ref.owner), ref);
    const link = stopped ? await reach(ref, { signal }) : await linkThroughSocket(runDir, { clock }).catch(unlessGone);
    if (link === null || !isOlder(link)) return link;
    await link[Symbol.asyncDispose]();
    if (stopped) throw irreplaceable(link);
    return null;
  };
  /** The container ends with its idle daemon, and starts again with one of this version: all but what is in memory stays. */
  const succeed = async (ref: SandboxRef, older: DaemonLink, options: { signal: AbortSignal | undefined }): Promise<DaemonLink> => {
    const { task } = ref.owner;
    if (daemonProgram === null) {
      await older[Symbol.asyncDispose]();
      throw irreplaceable(older);
    }
    const end = `\`holdfast sandbox stop --force ${task}\` ends what runs at once, and all files stay`;
    await retire(older, { clock, hint: `wait until that has ended, then the next use replaces the daemon; ${end}` });
    log.info("a container with an idle daemon of an earlier version is started again with one of this version", {
      container: ref.id,
      task,
    });
    for (let attempt = 0; attempt < SUCCESSION_ATTEMPTS; attempt++) {
      const link = await startedAnew(ref, options);
      if (link) return link;
      await delay(clock, SUCCESSION_PAUSE_MS);
    }
    const runDir = runOf(placeOf(root, ref.owner), ref);
    throw daemonFailed(runDir, "the daemon of an earlier version was ended, but its container did not start again with another one");
  };

  return {
    name: NAME,
    capabilities: { persistsAcrossProcesses: true, isolatesFiles: true, startDirectory: "/workspace", testOnly: false },

    async check({ signal } = {}): Promise<Availability> {
      try {
        refuseOwnArgs(settings.docker_extra_args, { labelPrefix: settings.label_prefix });
        const { identity, program, facts } = await engine();
        const { kind, version } = await facts({ anew: true, ...(signal && { signal }) });
        const unlimited = settings.container_disk > 0 && disk.cannot(engineVersion({ identity }, { version }));
        const warnings = [...weakenings(), ...(unlimited ? [NO_DISK_LIMIT] : [])];
        return { status: "ready", detail: `${kind} ${version}, ${program}`, warnings };
      } catch (error) {
        const fix = HoldfastError.isInstance(error) ? error.hint : "see the message";
        return { status: "broken", reason: describeError(error), fix };
      }
    },

    async prepare(owner, spec, { signal, onProgress } = {}) {
      const image = imageOf(spec);
      // Side by side, because each takes its time.
      const [there] = await Promise.all([containers.image(image, signal ? { signal } : {}), reapOrphans(owner)]);
      if (there !== null) return void images.set(image, there);
      onProgress?.(`pulling ${image}`);
      await containers.pull(image, {
        ...(signal && { signal }),
        limitMs: settings.docker_pull_timeout * 1000,
        onLine: (line) => onProgress?.(line),
      });
    },

    async create(owner, spec, options = {}) {
      throwIfAborted(options.signal, "the sandbox was not made");
      refuseOwnArgs(spec.extraArgs, { labelPrefix: settings.label_prefix });
      // The reaper passes over an engine that hangs, so whoever wants a container would wait twice as long to hear of it.
      await (await engine()).facts(options);
      await reapOrphans(owner);
      await makeSources(spec.mounts, log);
      const image = images.get(imageOf(spec)) ?? (await containers.image(imageOf(spec), options));
      if (image === null) return withoutImage(owner, spec, options);
      for (let attempt = 0; attempt < CREATE_ATTEMPTS; attempt++) {
        const made = await make(owner, spec, image, options).catch((error: unknown) => {
          throw wrapError(error, "sandbox-create-failed", `the container of task ${owner.task} was not made`, {
            facts: { task: owner.task },
          });
        });
        // Null: somebody was quicker, and may already have removed it again.
        const either = made?.ref ?? (await byName(owner, spec, options));
        if (made?.daemon) fresh.add(made.ref.id);
        if (made) own.add(made.ref.id);
        if (either) return either;
      }
      throw new HoldfastError("sandbox-create-failed", `the container of task ${owner.task} was made and removed several times meanwhile`, {
        facts: { task: owner.task },
      });
    },

    async attach(owner) {
      const place = placeOf(root, owner);
      const record = recordOf(owner);
      if (record === null || !ownerMatches(record, owner)) return null;
      // What another engine has is not what was asked for, although its socket could be reached.
      if (record.engine !== undefined && record.engine !== (await engine()).identity) return null;
      // A daemon that does not answer may be one of a container that is paused; the engine knows.
      const link = await linkThroughSocket(runOf(place, record), { clock }).catch(unlessGone);
      if (link === null) return null;
      if (isOlder(link)) {
        await link[Symbol.asyncDispose]();
        return null;
      }
      const { id, fingerprint: print, createdAt, settings: made } = record;
      const ref: SandboxRef = { driver: NAME, id, owner, fingerprint: print, state: "running", createdAt, settings: made };
      const connection = await connectContainer(link, { ref, restarted: false, callVariables: callVariables() }).catch(unlessGone);
      return connection && { ref, connection: await opened(connection, ref) };
    },

    async connect(ref, { signal } = {}): Promise<Connection> {
      throwIfAborted(signal, "the sandbox was not opened");
      const justMade = fresh.delete(ref.id) ? await socketOf(ref, { signal }).catch(unlessGone) : null;
      if (justMade) return opened(await connectContainer(justMade, { ref, restarted: false, callVariables: callVariables() }), ref);
      const container = await containers.find(ref.id, signal ? { signal } : {});
      if (container === null) throw sandboxGone("sandbox-not-found", ref);
      let restarted = await wake(ref, container);
      if (labels.factsOf(container.labels).daemon !== true) {
        const lines = { engine: await engine(), clientEnv: hostEnv, callVariables: callVariables() };
        const open = connectThroughExec({ ...lines, containers, ref, restarted, clock, signal });
        return opened(await open.catch((error: unknown) => removeUnusable(error, ref)), ref);
      }
      let link = await reach(ref, { signal });
      if (isOlder(link)) {
        link = await succeed(ref, link, { signal });
        restarted = true;
      }
      return opened(await connectContainer(link, { ref, restarted, callVariables: callVariables() }), ref);
    },

    list,

    async stateOf(ref, options) {
      const container = await containers.find(ref.id, options);
      if (container === null) return "gone";
      // A paused one is only asleep, with all that runs in it.
      return container.state === "stopped" ? "stopped" : "running";
    },

    access: async (options) => accessTo(await engine(), { env: hostEnv, labelPrefix: settings.label_prefix, ...options }),

    async destroy(ref, { purge = false, ended = false, ...options } = {}) {
      throwIfAborted(options.signal, "the sandbox was not removed");
      const container = await containers.find(ref.id, options);
      await containers.remove(ref.id, { ...options, ended });
      const place = placeOf(root, ref.owner);
      const clear = container ? removerWith(container.image) : remove;
      const isRecorded = recordOf(ref.owner)?.id === ref.id;
      if (container !== null || isRecorded) await removeRun(place, ref, clear);
      // By now the directory may belong to another container of the owner, or to one that is being made.
      const recent = otherRuns(place, [ref]).some((createdAt) => createdAt > clock.now() - YOUNGEST_MS);
      const shared = purge && (recent || (await list(ref.owner)).length > 0 || (await isLive(place, [ref])));
      if ((!isRecorded && !purge) || shared) return removeUnused(place);
      await removePlace(place, { files: purge, remove: clear });
      // A home or workspace in which nobody has put anything is no file that somebody wants kept.
      await removeUnused(place);
      log.info("sandbox removed", { sandbox: ref.id, task: ref.owner.task });
    },

    async activity(ref) {
      const { quirks } = await (await engine()).facts();
      const { code, stdout } = await (await engine()).run(["top", ref.id, ...quirks.topArgs], { limitMs: TOP_LIMIT_MS });
      return code === 0 ? readTop(stdout, quirks) : [];
    },

    async stop(ref, options) {
      if ((await containers.find(ref.id, options)) === null) throw sandboxGone("sandbox-not-found", ref);
      await containers.stop(ref.id, options);
    },

    async describe(ref) {
      const container = await containers.find(ref.id);
      if (container === null) throw sandboxGone("sandbox-not-found", ref);
      return describeContainer(container, { weakened: labels.factsOf(container.labels).weakened ?? [], made: ref.settings });
    },

    removeDirectory: remove,

    disarm: (path) => disarm(path, { engine, image: settings.docker_image }),

    async leftovers(of) {
      const { identity } = await engine();
      const directory = profileDirectory(root, of);
      const recorded = recordedRuns(directory);
      return findLeftovers({
        root,
        directory,
        task: of.task,
        engine: identity,
        recorded,
        refs: await list(of),
        clock,
        remove,
      });
    },
  };
}

/** Removed at this moment, or it does not answer. */
function unlessGone(error: unknown): null {
  if (!HoldfastError.isInstance(error) || !["daemon-failed", "sandbox-lost"].includes(error.code)) throw error;
  return null;
}
