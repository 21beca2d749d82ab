/** @module Reading a configuration file, or saying why it cannot be read. */
import { HoldfastError } from "../base/errors.ts";
import { readRegularFile, TOO_LARGE } from "../base/regular-file.ts";

/**
 * The text of the file, a byte order mark included, or undefined when there is none.
 * @throws `config-unreadable` when it is there but no readable regular file of a sensible size, `config-syntax` when it is not UTF-8.
 */
export function readConfigFile(path: string): string | undefined {
  const bytes = readRegularFile(
    path,
    (reason, cause) =>
      new HoldfastError("config-unreadable", `cannot read ${path}: ${reason}`, {
        hint: reason === TOO_LARGE ? "take out of it what is no configuration" : undefined,
        facts: { file: path, reason },
        cause,
      }),
  );
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
