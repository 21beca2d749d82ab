/** @module The caller's directory: where sessions on the host begin, and what relative paths on the host count from. */
import { isAbsolute, resolve } from "node:path";
import { HoldfastError } from "../base/errors.ts";

/** Null: it was deleted under this process, so it has no name any more. */
export function callerDirectory(): string | null {
  try {
    return process.cwd();
  } catch {
    // ENOENT is the only way this fails.
    return null;
  }
}

/** A path on the host as the caller wrote it. @throws `cwd-invalid` when it counts from a directory that was deleted */
export function fromCaller({ cwd }: { readonly cwd: string | null }, path: string): string {
  if (isAbsolute(path)) return resolve(path);
  if (cwd !== null) return resolve(cwd, path);
  throw new HoldfastError("cwd-invalid", `${path} is relative to the current directory, which has been deleted`, {
    hint: "write an absolute path, or change to a directory that exists",
    facts: { path },
  });
}
