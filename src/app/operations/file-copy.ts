/** @module Copies files and trees between the host and sandboxes. */
import type { Readable } from "node:stream";
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { DEFAULT_SESSION } from "../../base/names.ts";
import { bounded } from "../bounded.ts";
import { fromCaller } from "../caller-directory.ts";
import { absoluteInSandbox, hostPlace, type Place, type PlaceInfo, sandboxPlace } from "../copy-place.ts";
import type { App } from "../create-app.ts";
import { defineOperation } from "../operation.ts";
import type { CopyResult } from "../results.ts";
import { existingSandbox, useSandbox } from "../sandbox-of-task.ts";

/** Without a task: on the host. */
export interface CopyEnd {
  readonly task: string | null;
  readonly path: string;
}

export interface CopyLimits {
  readonly maxBytes?: number | undefined;
  readonly maxEntries?: number | undefined;
}

export interface CopyRequest extends CopyLimits {
  readonly from: CopyEnd;
  readonly to: CopyEnd;
  /** From whose directory relative paths in a sandbox count. */
  readonly session: string;
  readonly signal?: AbortSignal;
}

const EndShape = z.strictObject({ task: z.nullable(z.string()), path: z.string() });

export const fileCopy = defineOperation({
  name: "file.copy",
  summary: "Copy a file or a tree between the host and a sandbox",
  input: z.strictObject({
    from: EndShape,
    to: EndShape,
    session: z._default(z.string(), DEFAULT_SESSION),
    maxBytes: z.optional(z.int()),
    maxEntries: z.optional(z.int()),
  }),
  output: z.object({
    from: z.string(),
    to: z.string(),
    entries: z.int(),
    bytes: z.number(),
    skipped: z.readonly(z.array(z.object({ path: z.string(), reason: z.string() }))),
  }),
  run: (app, input): Promise<CopyResult> => copy(app, input),
});

/** The same, for surfaces whose users may lose patience. */
export async function copy(app: App, { from, to, session, signal, ...limits }: CopyRequest): Promise<CopyResult> {
  if (from.task === null && to.task === null) {
    throw new HoldfastError("invalid-input", "both ends of the copy are on the host", {
      hint: "write :PATH or TASK:PATH for the one in a sandbox",
    });
  }
  const source = await open(app, from, { session, make: false, ...(signal ? { signal } : {}) });
  const found = await copyable(source);
  const wanted = await open(app, to, { session, make: true, ...(signal ? { signal } : {}) });
  const target = await placeFor(source, wanted, found);
  const work = { source, target, found, limits, ...(signal ? { signal } : {}) };
  return { from: source.shown, to: target.shown, ...(await (found.directory ? copyTree(work) : copyFile(work))) };
}

/** A file in a sandbox, as a stream. */
export async function readFromSandbox(app: App, from: CopyEnd & { task: string }, options: StreamOptions): Promise<Readable> {
  const source = await open(app, from, { ...options, make: false });
  const found = await copyable(source);
  if (found.directory) throw isDirectory(source);
  return bounded(await source.read(options.signal), options).stream;
}

/** A stream into a file of a sandbox. A file that is there keeps its mode. */
export async function writeToSandbox(
  app: App,
  to: CopyEnd & { task: string },
  { content, ...options }: StreamOptions & { content: Readable },
): Promise<CopyResult> {
  const target = await open(app, to, { ...options, make: true });
  const found = await target.info();
  if (found?.directory || target.meansDirectory) throw isDirectory(target);
  const { stream, count } = bounded(content, options);
  await target.write(stream, { mode: found?.mode ?? 0o644, ...(options.signal ? { signal: options.signal } : {}) });
  return { from: "-", to: target.shown, entries: 1, bytes: count(), skipped: [] };
}

export interface StreamOptions extends CopyLimits {
  readonly session: string;
  readonly signal?: AbortSignal;
}

/** A sandbox is made only to put something into it. */
async function open(
  app: App,
  { task, path }: CopyEnd,
  { session, make, signal }: { session: string; make: boolean; signal?: AbortSignal },
): Promise<Place> {
  if (task === null) {
    // Only asked: as it was written it says more to people.
    fromCaller(app, path);
    return hostPlace(path);
  }
  if (!make) await existingSandbox(app, task);
  const { sandbox } = await useSandbox(app, task, signal);
  return sandboxPlace(sandbox.files, await absoluteInSandbox(sandbox, path, session), { task, path });
}

async function copyable(source: Place): Promise<PlaceInfo> {
  const found = await source.info();
  if (found === null) throw missing(source);
  if (found.special) throw isSpecial(source);
  return found;
}

/** As cp has it: into a directory that is there, under the name of the source; otherwise under the name given. */
async function placeFor(source: Place, wanted: Place, { directory }: PlaceInfo): Promise<Place> {
  const there = await wanted.info();
  if (there?.directory) {
    const target = source.name === null ? wanted : wanted.inside(source.name);
    if (target === wanted && directory) return wanted;
    return refuseOtherKind(target, directory);
  }
  if (there === null && wanted.meansDirectory && !directory) {
    throw new HoldfastError("file-not-found", `there is no directory ${wanted.shown}`, { facts: { path: wanted.shown } });
  }
  return refuseOtherKind(wanted, directory);
}

async function refuseOtherKind(target: Place, directory: boolean): Promise<Place> {
  const there = await target.info();
  if (there === null || there.directory === directory) return target;
  const [is, should] = there.directory ? ["directory", "file"] : ["file", "directory"];
  throw new HoldfastError("file-exists", `${target.shown} is a ${is}, so a ${should} cannot take its place`, {
    facts: { path: target.shown },
  });
}

interface CopyWork {
  readonly source: Place;
  readonly target: Place;
  readonly found: PlaceInfo;
  readonly limits: CopyLimits;
  readonly signal?: AbortSignal;
}

type Copied = Pick<CopyResult, "entries" | "bytes" | "skipped">;

async function copyFile({ source, target, found, limits, signal }: CopyWork): Promise<Copied> {
  const { stream, count } = bounded(await source.read(signal), limits);
  await target.write(stream, { mode: found.mode, ...(signal ? { signal } : {}) });
  return { entries: 1, bytes: count(), skipped: [] };
}

async function copyTree({ source, target, found, limits, signal }: CopyWork): Promise<Copied> {
  const options = {
    ...(limits.maxBytes === undefined ? {} : { maxBytes: limits.maxBytes }),
    ...(limits.maxEntries === undefined ? {} : { maxEntries: limits.maxEntries }),
    ...(signal ? { signal } : {}),
  };
  if (source.files && target.files) {
    throw new HoldfastError("invalid-input", "a tree cannot be copied from sandbox to sandbox in one step", {
      hint: "copy it to a directory on the host first, and from there",
    });
  }
  await target.makeDirectory(found.mode);
  if (source.files) return source.files.getTree(source.path, target.path, options);
  if (target.files) return target.files.putTree(source.path, target.path, options);
  throw new HoldfastError("internal", "a copy from the host to the host was not refused");
}

function missing({ shown }: Place): HoldfastError {
  return new HoldfastError("file-not-found", `there is no ${shown}`, { facts: { path: shown } });
}

function isSpecial({ shown, files }: Place): HoldfastError {
  if (files) return new HoldfastError("invalid-input", `${shown} is not a regular file`, { facts: { path: shown } });
  return new HoldfastError("invalid-input", `${shown} is neither a file nor a directory`, {
    hint: "write - as the source, and pipe its content into holdfast cp",
    facts: { path: shown },
  });
}

function isDirectory({ shown }: Place): HoldfastError {
  return new HoldfastError("invalid-input", `${shown} is a directory, which cannot be a stream`, { facts: { path: shown } });
}
