/** @module Sandboxes that only this driver object knows: for tests. Commands run on the host, but nothing is found again by another process. */
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { throwIfAborted } from "../../../base/abort.ts";
import { systemCode, wrapError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { makeDirectory } from "../../../base/make-directory.ts";
import { findTree, killTree } from "../../../base/process-tree.ts";
import type { SandboxDriver, SandboxRef } from "../../driver.ts";
import type { DriverContext } from "../../driver-context.ts";
import { SANDBOX_VARIABLE } from "../../session/script.ts";
import { fingerprint } from "../../spec.ts";
import { checkHost } from "../shared/host-check.ts";
import { connectToHost } from "../shared/host-connection.ts";
import { ownerMatches, sandboxGone } from "../shared/refs.ts";

const NAME = "memory";
const DESTROY_GRACE_MS = 500;
const NOT_MADE = "the sandbox was not made";

export function createDriver({ sandboxDir, hostEnv, clock }: DriverContext): SandboxDriver {
  const refs = new Map<string, SandboxRef>();
  const directoryOf = (ref: SandboxRef) => join(sandboxDir, NAME, ref.id);

  return {
    name: NAME,
    capabilities: { persistsAcrossProcesses: false, isolatesFiles: false, startDirectory: "caller", testOnly: true },

    check: () => checkHost(hostEnv),

    async create(owner, spec, { signal } = {}) {
      throwIfAborted(signal, NOT_MADE);
      const existing = [...refs.values()].find((ref) => ownerMatches(ref.owner, owner));
      if (existing) return existing;
      const ref: SandboxRef = {
        driver: NAME,
        id: `${NAME}-${randomId(8)}`,
        owner: { install: owner.install, profile: owner.profile, task: owner.task },
        fingerprint: fingerprint(spec),
        state: "running",
        createdAt: clock.now(),
      };
      // Registered before the first await, so that a concurrent caller finds it.
      refs.set(ref.id, ref);
      try {
        await makeDirectory(join(directoryOf(ref), "state"));
        throwIfAborted(signal, NOT_MADE);
        return ref;
      } catch (error) {
        refs.delete(ref.id);
        await rm(directoryOf(ref), { recursive: true, force: true });
        throw wrapError(error, "sandbox-create-failed", `cannot make the sandbox directory ${directoryOf(ref)}`);
      }
    },

    async connect(ref, { signal } = {}) {
      throwIfAborted(signal, "the sandbox was not opened");
      if (!refs.has(ref.id)) throw sandboxGone("sandbox-not-found", ref);
      // A concurrent caller may have got the ref while its directory was still being made.
      await makeDirectory(join(directoryOf(ref), "state"));
      return connectToHost({
        sandboxId: ref.id,
        stateDir: join(directoryOf(ref), "state"),
        hostEnv,
        clock,
        async assertPresent() {
          if (!refs.has(ref.id)) throw sandboxGone("sandbox-lost", ref);
        },
      });
    },

    async list(filter) {
      return [...refs.values()].filter(({ owner }) => ownerMatches(owner, filter));
    },

    stateOf: async (ref) => (refs.has(ref.id) ? "running" : "gone"),

    async destroy(ref, { signal } = {}) {
      throwIfAborted(signal, "the sandbox was not removed");
      if (!refs.delete(ref.id)) return;
      const trash = `${directoryOf(ref)}.gone`;
      // Renamed first, so that nothing of what is being ended can still be written.
      await rename(directoryOf(ref), trash).catch((error: unknown) => {
        // ENOENT: it is still being made.
        if (systemCode(error) !== "ENOENT") throw error;
      });
      await killTree({ variable: SANDBOX_VARIABLE, value: ref.id }, { clock, graceMs: DESTROY_GRACE_MS });
      await rm(trash, { recursive: true, force: true });
    },

    async activity(ref) {
      return findTree({ variable: SANDBOX_VARIABLE, value: ref.id }).map(({ pid, command }) => ({ pid, command }));
    },
  };
}
