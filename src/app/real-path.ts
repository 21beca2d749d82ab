/** @module A path without links in it. */
import { realpathSync } from "node:fs";
import { systemCode } from "../base/errors.ts";

/** A path that does not exist stays as it is. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return path;
    throw error;
  }
}
