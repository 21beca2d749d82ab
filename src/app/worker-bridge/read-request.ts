/** @module A request as it lies in the sandbox. Whoever is in there may have written anything, so nothing is believed but its form. */
import { HoldfastError } from "../../base/errors.ts";
import { LARGEST_ATTACHMENT } from "../../board/schema.ts";
import type { Files } from "../../sandbox/files.ts";

export interface BridgeRequest {
  /** Where it was made: what relative paths are relative to. */
  readonly cwd: string;
  readonly args: readonly string[];
  /** Its standard input, if it wanted to hand that over. */
  readonly input: Uint8Array | null;
}

const LONGEST_ARGUMENTS = 1024 * 1024;
/** A process and a number: also safe as a part of a path. */
export const REQUEST_ID = /^[1-9][0-9]{0,9}\.[0-9]{1,2}$/;

/** @throws when it is not what the client would have written */
export async function readRequest(files: Files, directory: string): Promise<BridgeRequest> {
  const words = await readRegular(files, `${directory}/args`, { most: LONGEST_ARGUMENTS, what: "the arguments" });
  if (words === null) throw malformed("it has no arguments");
  const input = await readRegular(files, `${directory}/input`, { most: LARGEST_ATTACHMENT, what: "the input" });
  const [cwd = "", ...args] = split(words);
  if (!cwd.startsWith("/")) throw malformed("it does not say where it was made");
  return { cwd, args, input };
}

export interface RegularOptions {
  readonly most: number;
  /** For people. */
  readonly what: string;
}

/** Null when there is nothing. @throws `too-large`, `file-failed` for what is no regular file */
export async function readRegular(files: Files, path: string, { most, what }: RegularOptions): Promise<Uint8Array | null> {
  const info = await files.stat(path).catch((error: unknown) => {
    if (HoldfastError.isInstance(error) && error.code === "file-not-found") return null;
    throw error;
  });
  if (info === null) return null;
  if (info.kind !== "file") {
    throw new HoldfastError(
      "file-failed",
      `${what} cannot be read: it is ${info.kind === "other" ? "not a regular file" : `a ${info.kind}`}`,
      {
        hint: "name a regular file",
        facts: { path },
      },
    );
  }
  const tooLarge = () =>
    new HoldfastError("too-large", `${what}: more than ${most} bytes, which are the most`, { facts: { path, limit: most } });
  if (info.size > most) throw tooLarge();
  // It may have grown, or become something else, since: then it is still cut off, and still in the sandbox.
  return files.read(path, { maxBytes: most }).catch((error: unknown) => {
    throw HoldfastError.isInstance(error) && error.code === "too-large" ? tooLarge() : error;
  });
}

function split(bytes: Uint8Array): string[] {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new HoldfastError("invalid-input", "the arguments are not all UTF-8", { hint: "write text in UTF-8", cause: error });
  }
  if (!text.endsWith("\0")) throw malformed("its arguments are not whole");
  return text.slice(0, -1).split("\0");
}

function malformed(reason: string): HoldfastError {
  return new HoldfastError("invalid-input", `the request is refused: ${reason}`);
}
