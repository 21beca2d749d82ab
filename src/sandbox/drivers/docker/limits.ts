/** @module Limits that an engine may not be able to apply (S7). */
import { writeFileSync } from "node:fs";
import type { Clock } from "../../../base/clock.ts";
import { describeError, HoldfastError } from "../../../base/errors.ts";
import type { Logger } from "../../../base/log.ts";
import { readStateFile } from "../../../base/regular-file.ts";
import type { EngineResult } from "./engine.ts";

/** Storage is moved now and then: after that the engine is asked anew. */
const KNOWN_FOR_MS = 24 * 3600 * 1000;

/** What an engine says of a limit for the container's own files when its storage has none. */
export function refusesDisk({ code, stderr }: EngineResult): boolean {
  return code !== 0 && /storage-opt|storage option/i.test(stderr);
}

/** More cores than the machine has. */
export function refusesCpu({ code, stderr }: EngineResult): boolean {
  return code !== 0 && /range of cpus is from/i.test(stderr);
}

/** What an engine says of a limit that it left out, although it made the container. Without swap, the limit of the memory holds all the same. */
export function leftOut(stderr: string): string[] {
  const lines = stderr.split("\n").map((line) => line.trim());
  const speaksOfLimits = (line: string) => /limit|quota|cgroup/i.test(line) && !/limited without swap/i.test(line);
  return lines.filter((line) => speaksOfLimits(line) && /not support|not mounted|ignor|discard/i.test(line));
}

/** The name by which it is remembered what an engine can do: another version may do more. */
export function engineVersion({ identity }: { identity: string }, { version }: { version: string }): string {
  return `${identity} ${version}`;
}

export interface DiskKnowledge {
  /** The engine has refused such a limit lately. */
  cannot(engine: string): boolean;
  learn(engine: string): void;
}

/** Asking costs a failed `run`, so the answer is kept in a file for other processes. `engine`: which one. */
export function createDiskKnowledge(path: string, { clock, log }: { clock: Clock; log: Logger }): DiskKnowledge {
  return {
    cannot(engine) {
      const [known, at] = remembered(path).split("\n");
      return known === engine && Number(at) > clock.now() - KNOWN_FOR_MS;
    },
    learn(engine) {
      try {
        writeFileSync(path, `${engine}\n${clock.now()}\n`, { mode: 0o600 });
      } catch (error) {
        log.warn(`cannot remember that the disk cannot be limited: ${describeError(error)}`, { path });
      }
    },
  };
}

/** Only to save time, so a file that cannot be read says nothing. */
function remembered(path: string): string {
  try {
    return readStateFile(path) ?? "";
  } catch (error) {
    if (!HoldfastError.isInstance(error)) throw error;
    return "";
  }
}
