/** @module The names in one of Holdfast's own directories. */
import { readdir } from "node:fs/promises";
import { describeError, HoldfastError, systemCode } from "./errors.ts";

/** None when there is no such directory. @throws `state-unreadable` */
export async function listDirectory(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw new HoldfastError("state-unreadable", `cannot list ${path}: ${describeError(error)}`, { facts: { path }, cause: error });
  }
}
