/** @module Reading one of Holdfast's own small files, or saying why it cannot be read. */
import { lstatSync, readFileSync, statSync } from "node:fs";
import { describeError, HoldfastError, systemCode } from "./errors.ts";

/** Far more than anybody writes; parsing much more than that would look like a program that hangs. */
const LARGEST_BYTES = 1_000_000;
/** The reason for refusing a larger one. */
export const TOO_LARGE = `it is larger than ${LARGEST_BYTES / 1_000_000} MB`;

/**
 * The bytes of the file, or undefined when there is none. Synchronous, because every command begins with it and waking the thread pool
 * takes longer than reading a small file.
 * @throws what `unreadable` makes of the reason, when it is there but no readable regular file of a sensible size.
 */
export function readRegularFile(path: string, unreadable: (reason: string, cause?: unknown) => HoldfastError): Uint8Array | undefined {
  const ifAny = { throwIfNoEntry: false } as const;
  try {
    const stats = statSync(path, ifAny);
    if (stats === undefined) {
      if (lstatSync(path, ifAny) === undefined) return undefined;
      throw unreadable("it is a link to a file that does not exist");
    }
    // Checked before opening: a pipe would be waited for without end.
    if (!stats.isFile()) throw unreadable(stats.isDirectory() ? "it is a directory" : "it is not a regular file");
    if (stats.size > LARGEST_BYTES) throw unreadable(TOO_LARGE);
    return readFileSync(path);
  } catch (error) {
    throw HoldfastError.isInstance(error) ? error : unreadable(reasonOf(error), error);
  }
}

/** The text of a file that holds state, not settings. @throws `state-unreadable` */
export function readStateFile(path: string): string | undefined {
  const bytes = readRegularFile(
    path,
    (reason, cause) => new HoldfastError("state-unreadable", `cannot read ${path}: ${reason}`, { facts: { path, reason }, cause }),
  );
  return bytes && new TextDecoder().decode(bytes);
}

function reasonOf(error: unknown): string {
  switch (systemCode(error)) {
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case "ELOOP":
      return "its links lead in a circle";
    case "ENOTDIR":
      return "a part of its path is not a directory";
    default:
      return describeError(error);
  }
}
