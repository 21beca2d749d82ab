/** @module Unpacking an archive that a sandbox sent, which is not trusted, below a directory of the host. */
import { constants } from "node:fs";
import { lutimes, mkdir, open, symlink } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { Extract, Header } from "tar-stream";
import { throwIfAborted } from "../../base/abort.ts";
import { wrapError } from "../../base/errors.ts";
import type { TreeOptions, TreeResult } from "../files.ts";
import { treeError } from "./directory.ts";
import { createTreeCount, MAX_BYTES, MAX_ENTRIES, type TreeCount, tooLarge } from "./limits.ts";
import { readName, refuseTarget } from "./names.ts";
import { createTarget, type Target } from "./target.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
const PERMISSIONS = 0o777;
const LATEST_TIME = 2 ** 34;
/** What one entry may cost besides its content: its headers, with the longest names. */
const ENTRY_OVERHEAD = 16 * 1024;

type Entry = Extract extends AsyncIterable<infer Source> ? Source : never;

interface Unpacking {
  readonly target: Target;
  readonly count: TreeCount;
}

/**
 * Writes nothing outside `root`. Files and links that are there are replaced, directories are filled and keep their mode.
 * What was unpacked before a failure stays: it is whole, and nothing of it leads out of the tree.
 */
export async function unpackArchive(source: Readable, root: string, options: TreeOptions): Promise<TreeResult> {
  // One that fails before it is read would end the program; whoever reads it learns of it then.
  source.on("error", () => {});
  // When the archive or its source fails, an entry under way only learns that it was cut off.
  let failure: unknown;
  // From the beginning: a source that fails before anybody reads it would otherwise end the process.
  source.on("error", (error) => {
    failure ??= error;
  });
  const { extract: createExtract } = await import("tar-stream");
  const { maxBytes = MAX_BYTES, maxEntries = MAX_ENTRIES, signal } = options;
  const count = createTreeCount(options);
  const extract = createExtract();
  const closed = new Promise<void>((resolve) => extract.once("close", () => resolve()));
  extract.on("error", (error) => {
    failure ??= error;
  });
  try {
    await mkdir(root, { recursive: true });
    await using target = await createTarget(root);
    const limit = maxBytes + (maxEntries + 1) * ENTRY_OVERHEAD;
    void pump(source, extract, { limit, closed }).catch((error: Error) => {
      failure ??= error;
      extract.destroy(error);
    });
    for await (const entry of extract) {
      throwIfAborted(signal, "the tree was not copied");
      await unpackEntry({ target, count }, entry);
    }
    if (failure) throw failure;
    await target.finish();
    return count.result();
  } catch (error) {
    extract.destroy();
    await closed;
    if (failure === undefined) throw treeError("write", root, error);
    // The library's own errors, and those of the source.
    throw wrapError(failure, "protocol", "the archive that the sandbox sent is broken");
  } finally {
    source.destroy();
  }
}

/** Bounded as a whole: headers without end would otherwise never become an entry that is counted. */
async function pump(source: Readable, extract: Extract, { limit, closed }: { limit: number; closed: Promise<void> }): Promise<void> {
  let total = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (extract.destroyed) return;
    total += chunk.length;
    if (total > limit) throw tooLarge("the archive of the tree is larger than its limits allow", { limit });
    if (!extract.write(chunk)) await Promise.race([closed, new Promise<void>((resolve) => extract.once("drain", () => resolve()))]);
  }
  extract.end(null);
}

async function unpackEntry(unpacking: Unpacking, entry: Entry): Promise<void> {
  const { header } = entry;
  const { count, target } = unpacking;
  const name = readName(header.name);
  const path = name.parts.join("/");
  try {
    if (name.parts.length > 0) {
      count.entry(path);
      if (name.garbled) count.skip(path, "its name is not valid UTF-8");
      else if (header.type === "directory") await target.makeDirectory(name.parts, { mode: modeOf(header), mtime: timeOf(header) });
      else if (header.type === "file" || header.type === "contiguous-file") await unpackFile(unpacking, name.parts, entry);
      else if (header.type === "symlink") await unpackLink(unpacking, name.parts, header);
      else count.skip(path, `it is a ${header.type ?? "thing of an unknown kind"}`);
    }
  } catch (error) {
    throw treeError("write", path, error);
  }
  // What was not wanted has to be read past.
  entry.resume();
}

async function unpackFile({ target, count }: Unpacking, parts: readonly string[], entry: Entry): Promise<void> {
  count.file(parts.join("/"), entry.header.size ?? 0);
  await target.put(parts, async (place) => {
    await using file = await open(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    for await (const chunk of entry as AsyncIterable<Buffer>) await file.writeFile(chunk);
    await file.chmod(modeOf(entry.header));
    const time = timeOf(entry.header);
    await file.utimes(time, time);
  });
}

async function unpackLink({ target, count }: Unpacking, parts: readonly string[], header: Header): Promise<void> {
  const to = header.linkname ?? "";
  const reason = refuseTarget(parts, to);
  if (reason !== null) return count.skip(parts.join("/"), reason);
  await target.put(parts, async (place) => {
    await symlink(to, place);
    const time = timeOf(header);
    await lutimes(place, time, time);
  });
}

/** Without set-uid, set-gid and sticky. */
function modeOf({ mode = 0 }: Header): number {
  return Number.isInteger(mode) ? mode & PERMISSIONS : 0o600;
}

/** Seconds. A time that makes no sense is the beginning of all. */
function timeOf({ mtime }: Header): number {
  const seconds = (mtime?.getTime() ?? 0) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), LATEST_TIME) : 0;
}
