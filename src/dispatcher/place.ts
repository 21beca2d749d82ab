/** @module Where a process id means something: one machine since its last boot, seen from one pid namespace. */
import { readFileSync, readlinkSync } from "node:fs";
import type { Place } from "./worker.ts";

export function currentPlace(install: string): Place {
  return { install, boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(), pids: readlinkSync("/proc/self/ns/pid") };
}

/**
 * `past`: of an earlier boot of this machine, so nothing of it lives. The home of an installation is on one machine, and processes that
 * share it from several pid namespaces cannot see each other.
 */
export function comparePlaces(here: Place, other: Place): "here" | "past" | "elsewhere" {
  if (other.install !== here.install) return "elsewhere";
  if (other.boot !== here.boot) return "past";
  return other.pids === here.pids ? "here" : "elsewhere";
}
