/** @module What the methods of files accept: everything is checked before anything is sent. */
import { Readable } from "node:stream";
import { checkInput, FLAG, type InputType, MAP, TEXT } from "../base/check-input.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Content } from "./file-transport.ts";

const CONTENT: InputType = {
  expected: "a string, bytes or a readable stream",
  fits: (value) => TEXT.fits(value) || value instanceof Uint8Array || value instanceof Readable,
};
const SIGNAL: InputType = { expected: "an AbortSignal", fits: (value) => value instanceof AbortSignal };
const LARGEST_MODE = 0o7777;
const FIELDS: Readonly<Record<string, InputType>> = {
  parents: FLAG,
  recursive: FLAG,
  follow: FLAG,
  signal: SIGNAL,
  mode: { expected: "permission bits", fits: (value) => isWhole(value) && value <= LARGEST_MODE },
  maxBytes: { expected: "a whole number of at least 0", fits: isWhole },
  maxEntries: { expected: "a whole number of at least 0", fits: isWhole },
};

export function checkPath(path: string): string {
  checkInput("path", path, TEXT);
  if (path.startsWith("/") && !path.includes("\0")) return path;
  throw new HoldfastError("invalid-input", `${JSON.stringify(path)} is not an absolute path in the sandbox`, {
    hint: "begin it with `/`",
    facts: { path },
  });
}

/** Fields that are undefined count as left out. */
export function checkFileOptions<Options extends object>(options: Options): Options {
  checkInput("options", options, MAP);
  for (const [field, value] of Object.entries(options)) {
    const type = FIELDS[field];
    if (type && value !== undefined) checkInput(field, value, type);
  }
  return options;
}

export function checkContent(content: Content): Content {
  checkInput("content", content, CONTENT);
  return content;
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
