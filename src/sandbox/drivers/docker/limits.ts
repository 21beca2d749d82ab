/** @module Limits that an engine may not be able to apply (S7). */
import { readFileSync, writeFileSync } from "node:fs";
import type { Clock } from "../../../base/clock.ts";
import { systemCode } from "../../../base/errors.ts";

/** Storage is moved now and then: after that the engine is asked anew. */
const KNOWN_FOR_MS = 24 * 3600 * 1000;

/** What an engine says of a limit for the container's own files when its storage has none. */
export function refusesDisk(stderr: string): boolean {
  return /storage-opt|storage option/i.test(stderr);
}

/** What an engine says of a limit that it left out, although it made the container. Without swap, the limit of the memory holds all the same. */
export function leftOut(stderr: string): string[] {
  const lines = stderr.split("\n").map((line) => line.trim());
  const speaksOfLimits = (line: string) => /limit|quota|cgroup/i.test(line) && !/limited without swap/i.test(line);
  return lines.filter((line) => speaksOfLimits(line) && /not support|not mounted|ignor|discard/i.test(line));
}

export interface DiskKnowledge {
  /** The engine has refused such a limit lately. */
  cannot(engine: string): boolean;
  learn(engine: string): void;
}

/** Asking costs a failed `run`, so the answer is kept in a file for other processes. `engine`: which one. */
export function createDiskKnowledge(path: string, { clock }: { clock: Clock }): DiskKnowledge {
  return {
    cannot(engine) {
      const [known, at] = textOf(path).split("\n");
      return known === engine && Number(at) > clock.now() - KNOWN_FOR_MS;
    },
    learn: (engine) => writeFileSync(path, `${engine}\n${clock.now()}\n`, { mode: 0o600 }),
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return "";
    throw error;
  }
}
