/** @module Sandboxes on the host itself: no isolation, but state that stays and processes that are accounted for. */
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { throwIfAborted } from "../../../base/abort.ts";
import { describeError, HoldfastError, systemCode, wrapError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { listDirectory } from "../../../base/list-directory.ts";
import { makeDirectory } from "../../../base/make-directory.ts";
import { taskSegment } from "../../../base/names.ts";
import { findMarked, findTree, isInside, killTree } from "../../../base/process-tree.ts";
import { connectThroughDaemon } from "../../daemon/connection.ts";
import type { Owner, SandboxDriver, SandboxRef } from "../../driver.ts";
import type { DriverContext } from "../../driver-context.ts";
import { SANDBOX_VARIABLE } from "../../session/script.ts";
import { fingerprint, settingsOf } from "../../spec.ts";
import { makeSecret } from "../shared/daemon-socket.ts";
import { assertReady, checkHost } from "../shared/host-check.ts";
import { connectToHost, findProgram, whilePresent } from "../shared/host-connection.ts";
import { DAEMON_VARIABLE, openHostDaemon, stopHostDaemon } from "../shared/host-daemon.ts";
import { createHostFiles } from "../shared/host-files.ts";
import { ownerMatches, processMarks, sandboxDirectory, sandboxGone } from "../shared/refs.ts";
import { readRecord, type SandboxRecord, writeRecord } from "../shared/sandbox-record.ts";
import { GONE_PREFIX, NEW_PREFIX, removeLeftovers } from "./leftovers.ts";

const NAME = "local";
const STATE = "state";
const RUN = "run";
const DESTROY_GRACE_MS = 2_000;
const CREATE_ATTEMPTS = 5;
const NOT_MADE = "the sandbox was not made";

export function createDriver({ sandboxDir, hostEnv, daemonProgram, clock, log }: DriverContext): SandboxDriver {
  const root = join(sandboxDir, NAME);
  const directoryOf = (owner: Owner) => sandboxDirectory(root, owner);

  const readRef = async (directory: string): Promise<SandboxRef | null> => {
    const record = readRecord(directory);
    return record && toRef(record);
  };
  /** One damaged record must not hide all the others. */
  const readRefOrWarn = (directory: string): Promise<SandboxRef | null> =>
    readRef(directory).catch((error: unknown) => {
      if (!HoldfastError.isInstance(error)) throw error;
      log.warn(`left out a sandbox: ${error.message}; ${error.hint}`, error.facts);
      return null;
    });
  const current = async (ref: SandboxRef) => {
    const found = await readRef(directoryOf(ref.owner));
    return found?.id === ref.id ? found : null;
  };

  /** One that does not answer is ended like any other process. */
  const stopDaemon = (directory: string) =>
    stopHostDaemon(join(directory, RUN), { clock, graceMs: DESTROY_GRACE_MS }).catch((error: unknown) => {
      log.warn("the daemon of a sandbox did not stop when it was asked to", { directory, error: describeError(error) });
    });
  return {
    name: NAME,
    capabilities: { persistsAcrossProcesses: true, isolatesFiles: false, startDirectory: "caller", testOnly: false },

    check: () => checkHost(hostEnv),

    async create(owner, spec, { signal } = {}) {
      assertReady(NAME, await checkHost(hostEnv));
      const directory = directoryOf(owner);
      const record: SandboxRecord = {
        version: 1,
        id: `${NAME}-${randomId(8)}`,
        ...owner,
        fingerprint: fingerprint(spec),
        createdAt: clock.now(),
        settings: settingsOf(spec),
      };
      // Built aside and renamed into place: of two creators one rename fails, and nobody ever sees half a sandbox.
      const staging = join(root, `${NEW_PREFIX}${record.id}`);
      try {
        throwIfAborted(signal, NOT_MADE);
        await makeDirectory(join(staging, STATE));
        await makeDirectory(join(staging, RUN));
        await makeSecret(join(staging, RUN));
        await makeDirectory(dirname(directory));
        await writeRecord(staging, record);
        for (let attempt = 1; ; attempt++) {
          throwIfAborted(signal, NOT_MADE);
          const taken = await moveIntoPlace(staging, directory);
          if (!taken) {
            await removeLeftovers(root, { clock, log });
            return toRef(record);
          }
          const existing = await readRef(directory);
          if (existing) return existing;
          // Taken, and gone when we looked: somebody removed it in between.
          if (attempt === CREATE_ATTEMPTS)
            throw new HoldfastError("sandbox-create-failed", `${directory} is in the way but holds no sandbox`, { facts: { directory } });
        }
      } catch (error) {
        throw wrapError(error, "sandbox-create-failed", `cannot make the sandbox directory ${directory}`, {
          facts: { directory, systemCode: systemCode(error) },
        });
      } finally {
        await rm(staging, { recursive: true, force: true }).catch((error: unknown) => {
          // ENOTDIR: a file is in the place of the root, so nothing was made and there is nothing to remove.
          if (systemCode(error) !== "ENOTDIR") throw error;
        });
      }
    },

    async connect(ref, { signal } = {}) {
      throwIfAborted(signal, "the sandbox was not opened");
      if ((await current(ref)) === null) throw sandboxGone("sandbox-not-found", ref);
      const directory = directoryOf(ref.owner);
      const stateDir = join(directory, STATE);
      await mkdir(stateDir, { mode: 0o700 }).catch((error: unknown) => {
        // ENOENT: the sandbox was removed at this moment.
        if (systemCode(error) === "ENOENT") throw sandboxGone("sandbox-not-found", ref);
        if (systemCode(error) !== "EEXIST")
          throw wrapError(error, "state-write-failed", `cannot make ${stateDir}`, { facts: { stateDir } });
      });
      const assertPresent = async () => {
        if ((await current(ref)) === null) throw sandboxGone("sandbox-lost", ref);
      };
      if (daemonProgram === null) return connectToHost({ sandboxId: ref.id, stateDir, hostEnv, clock, assertPresent });
      const { link, restarted } = await openHostDaemon({
        program: daemonProgram,
        runDir: join(directory, RUN),
        sandboxId: ref.id,
        hostEnv,
        clock,
        log,
        signal,
      });
      return connectThroughDaemon({
        daemon: { link, environment: (env = hostEnv) => ({ env: { ...env, ...processMarks(ref.id) } }) },
        stateDir,
        files: createHostFiles(stateDir, whilePresent(assertPresent)),
        restarted,
        findProgram: (name) => findProgram(name, hostEnv.PATH ?? ""),
      });
    },

    async list(filter) {
      const installDir = join(root, taskSegment(filter.install));
      const profileDirs = filter.profile === undefined ? subfolders(installDir) : [join(installDir, taskSegment(filter.profile))];
      const { task } = filter;
      const directories = profileDirs.flatMap((folder) => (task === undefined ? subfolders(folder) : [join(folder, taskSegment(task))]));
      const asksForOne = filter.profile !== undefined && task !== undefined;
      const refs = await Promise.all(directories.map(asksForOne ? readRef : readRefOrWarn));
      return refs.filter((ref) => ref !== null).filter(({ owner }) => ownerMatches(owner, filter));
    },

    stateOf: async (ref) => (await current(ref))?.state ?? "gone",

    async destroy(ref, { signal } = {}) {
      throwIfAborted(signal, "the sandbox was not removed");
      const directory = directoryOf(ref.owner);
      const trash = join(root, `${GONE_PREFIX}${ref.id}`);
      const there = (await current(ref)) !== null;
      // Renamed first, so that nobody can attach to a sandbox whose processes are being ended.
      if (there) await moveAside(directory, trash);
      const mark = { variable: SANDBOX_VARIABLE, value: ref.id };
      // A daemon ends all that it runs, and whoever removes the sandbox from inside has to do it before that.
      if (!isInside(mark)) await stopDaemon(trash);
      // Also when it is not there: whoever removed it may have been killed before the end.
      await killTree(mark, { clock, graceMs: DESTROY_GRACE_MS });
      await killTree({ variable: DAEMON_VARIABLE, value: ref.id }, { clock, graceMs: DESTROY_GRACE_MS });
      await rm(join(trash, STATE), { recursive: true, force: true });
      await rm(trash, { recursive: true, force: true });
      if (there) log.info("sandbox removed", { sandbox: ref.id, task: ref.owner.task });
    },

    async handOver(ref, profile) {
      const directory = directoryOf(ref.owner);
      const record = readRecord(directory);
      if (record?.id !== ref.id) throw sandboxGone("sandbox-not-found", ref);
      // It knows the paths of its files, which change.
      await stopDaemon(directory);
      await killTree({ variable: DAEMON_VARIABLE, value: ref.id }, { clock, graceMs: DESTROY_GRACE_MS });
      const target = directoryOf({ ...ref.owner, profile });
      try {
        await makeDirectory(dirname(target));
        await writeRecord(directory, { ...record, profile });
        await rename(directory, target);
      } catch (error) {
        throw wrapError(error, "state-write-failed", `cannot move ${directory} to ${target}`, { facts: { directory, target } });
      }
      return toRef({ ...record, profile });
    },

    async activity(ref) {
      const daemons = { variable: DAEMON_VARIABLE, value: ref.id };
      const keepers = () => findMarked(daemons).map(({ pid }) => pid);
      // Asked before and after: a keeper that begins or ends meanwhile is nobody's command.
      const before = keepers();
      // What a daemon runs, also with an emptied environment, and what was started without one.
      const found = [...findTree(daemons), ...findTree({ variable: SANDBOX_VARIABLE, value: ref.id })];
      const own = new Set([...before, ...keepers()]);
      const byPid = new Map(found.filter(({ pid }) => !own.has(pid)).map(({ pid, command }) => [pid, { pid, command }]));
      return [...byPid.values()];
    },
  };
}

function subfolders(path: string): string[] {
  return listDirectory(path).map((name) => join(path, name));
}

function toRef({ id, install, profile, task, fingerprint, createdAt, settings }: SandboxRecord): SandboxRef {
  return { driver: NAME, id, owner: { install, profile, task }, fingerprint, state: "running", createdAt, settings };
}

async function moveAside(directory: string, trash: string): Promise<void> {
  await rename(directory, trash).catch((error: unknown) => {
    // ENOENT: another process removed it at the same moment.
    if (systemCode(error) !== "ENOENT")
      throw wrapError(error, "state-write-failed", `cannot remove ${directory}`, { facts: { directory } });
  });
}

/** True when something is already there. */
async function moveIntoPlace(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return false;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(systemCode(error) ?? "")) return true;
    throw error;
  }
}
