/** @module The names in one of Holdfast's own directories. */
import { readdirSync } from "node:fs";
import { describeError, HoldfastError, systemCode } from "./errors.ts";

/** None when there is no such directory. @throws `state-unreadable` */
export function listDirectory(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw new HoldfastError("state-unreadable", `cannot list ${path}: ${describeError(error)}`, { facts: { path }, cause: error });
  }
}
