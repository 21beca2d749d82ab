/** @module The files of attachments: copied into a directory of the task, so that they outlive the workspace they come from (K30). */
import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { describeError, HoldfastError, systemCode } from "../base/errors.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { openInside } from "../base/open-inside.ts";
import { contentTypeOf } from "./content-type.ts";
import type { NewAttachment } from "./notes.ts";
import { LARGEST_ATTACHMENT } from "./schema.ts";

const { O_WRONLY, O_CREAT, O_EXCL } = constants;
const CHUNK_BYTES = 256 * 1024;
const LONGEST_NAME_BYTES = 200;
const MOST_OF_ONE_NAME = 10_000;

export interface FileToKeep {
  /** Absolute, or relative to what it must lie in. */
  readonly path: string;
  /** @default the last part of the path */
  readonly name?: string | undefined;
  /** @default by the ending of the name */
  readonly contentType?: string | undefined;
}

export interface KeepOptions {
  /** A file must lie strictly inside, links resolved. Null: anywhere, and its path must be absolute. */
  readonly within: string | null;
}

/** All or nothing: what was copied is removed again when one fails. @throws `artifact-refused`, `too-large`, `state-write-failed` */
export async function keepFiles(directory: string, wanted: readonly FileToKeep[], { within }: KeepOptions): Promise<NewAttachment[]> {
  const kept: NewAttachment[] = [];
  try {
    for (const file of new Map(wanted.map((each) => [each.path, each])).values()) kept.push(await keepFile(directory, file, { within }));
    return kept;
  } catch (error) {
    await removeCopies(kept);
    throw error;
  }
}

/** For a caller whose next step failed. */
export async function removeCopies(copies: readonly Pick<NewAttachment, "path">[]): Promise<void> {
  for (const { path } of copies) await rm(path, { force: true });
}

/**
 * Copies one regular file into the directory, which is made if need be, and never over another file: `name` says what the file was called,
 * `path` where it is now.
 */
async function keepFile(
  directory: string,
  { path: source, name, contentType }: FileToKeep,
  { within }: KeepOptions,
): Promise<NewAttachment> {
  const shown = JSON.stringify(source.slice(0, 200));
  const refuse = (reason: string, cause?: unknown) =>
    new HoldfastError("artifact-refused", `${shown} cannot be kept with the task: ${reason}`, { facts: { path: source, reason }, cause });
  const tooLarge = () =>
    new HoldfastError("too-large", `${shown} is larger than ${LARGEST_ATTACHMENT} bytes, which are the most`, {
      hint: "there is no setting for it: make the file smaller, or say in a comment where it is",
      facts: { path: source },
    });
  if (source === "" || source.includes("\0")) throw refuse("it is not a path");

  await using file = await openInside(within === null ? source : resolve(within, source), {
    within: within === null ? null : [within],
    refuse,
  });
  if (file.size > LARGEST_ATTACHMENT) throw tooLarge();
  const safe = safeName(name ?? source);
  const { handle, path } = await createFile(directory, safe);
  try {
    const size = await copyBytes(file.handle, handle, tooLarge);
    // What it was copied from may be removed as soon as its task counts as done.
    await handle.sync();
    await handle.close();
    return { name: safe, path, contentType: contentType ?? contentTypeOf(safe), size };
  } catch (error) {
    await handle.close();
    await rm(path, { force: true });
    throw writeFailure(path, error);
  }
}

/** One part of a path and one line of text, whatever it was; the ending stays. */
export function safeName(path: string): string {
  const last = path.replace(/\/+$/, "").split("/").at(-1) ?? "";
  const plain = last
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029\\]/gu, "_")
    .replace(/^[.\-~ ]/, "_")
    .trim();
  const ending = extname(plain).slice(0, 20);
  const stem = plain.slice(0, plain.length - extname(plain).length);
  return `${firstBytes(stem, LONGEST_NAME_BYTES - Buffer.byteLength(ending))}${ending}` || "file";
}

async function createFile(directory: string, name: string): Promise<{ handle: FileHandle; path: string }> {
  const ending = extname(name);
  const stem = name.slice(0, name.length - ending.length);
  try {
    await makeDirectory(directory);
    for (let count = 1; count <= MOST_OF_ONE_NAME; count++) {
      const path = join(directory, count === 1 ? name : `${stem}-${count}${ending}`);
      const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600).catch((error: unknown) => {
        if (systemCode(error) !== "EEXIST") throw error;
        return null;
      });
      if (handle !== null) return { handle, path };
    }
  } catch (error) {
    throw writeFailure(directory, error);
  }
  throw new HoldfastError("state-write-failed", `${directory} already has ${MOST_OF_ONE_NAME} files called ${JSON.stringify(name)}`);
}

/** Counts what it copies: the file may grow meanwhile. */
async function copyBytes(from: FileHandle, to: FileHandle, tooLarge: () => HoldfastError): Promise<number> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let size = 0; ; ) {
    const { bytesRead } = await from.read(chunk, 0, CHUNK_BYTES, size);
    if (bytesRead === 0) return size;
    size += bytesRead;
    if (size > LARGEST_ATTACHMENT) throw tooLarge();
    for (let done = 0; done < bytesRead; ) done += (await to.write(chunk, done, bytesRead - done)).bytesWritten;
  }
}

function writeFailure(path: string, error: unknown): HoldfastError {
  if (HoldfastError.isInstance(error)) return error;
  return new HoldfastError("state-write-failed", `cannot write ${path}: ${describeError(error)}`, { facts: { path }, cause: error });
}

function firstBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  // A character that was cut in two becomes the replacement character, and goes.
  return bytes
    .subarray(0, most)
    .toString()
    .replace(/\ufffd$/, "");
}
