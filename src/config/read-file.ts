/** @module Reading a configuration file, or saying why it cannot be read. */
import { lstatSync, readFileSync, statSync } from "node:fs";
import { describeError, HoldfastError, systemCode } from "../base/errors.ts";

/**
 * The text of the file, a byte order mark included, or undefined when there is none. Synchronous, because every command begins with it
 * and waking the thread pool takes longer than reading a small file.
 * @throws `config-unreadable` when it is there but no readable regular file, `config-syntax` when it is not UTF-8.
 */
export function readConfigFile(path: string): string | undefined {
  const bytes = readBytes(path);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    // TypeError: the decoder met bytes that are not UTF-8.
    throw new HoldfastError("config-syntax", `${path} is not UTF-8 text`, {
      hint: "save it as UTF-8",
      facts: { file: path },
      cause: error,
    });
  }
}

function readBytes(path: string): Uint8Array | undefined {
  const ifAny = { throwIfNoEntry: false } as const;
  try {
    const stats = statSync(path, ifAny);
    if (stats === undefined) {
      if (lstatSync(path, ifAny) === undefined) return undefined;
      throw unreadable(path, "it is a link to a file that does not exist");
    }
    // Checked before opening: a pipe would be waited for without end.
    if (!stats.isFile()) throw unreadable(path, stats.isDirectory() ? "it is a directory" : "it is not a regular file");
    return readFileSync(path);
  } catch (error) {
    throw HoldfastError.isInstance(error) ? error : unreadable(path, reasonOf(error), error);
  }
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

function unreadable(path: string, reason: string, cause?: unknown): HoldfastError {
  return new HoldfastError("config-unreadable", `cannot read ${path}: ${reason}`, { facts: { file: path, reason }, cause });
}
