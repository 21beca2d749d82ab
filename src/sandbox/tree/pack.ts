/** @module An archive of a directory of the host, as a stream. */
import { constants, type Stats } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";
import { Readable } from "node:stream";
import type { Header, Pack } from "tar-stream";
import { throwIfAborted } from "../../base/abort.ts";
import { HoldfastError } from "../../base/errors.ts";
import type { TreeOptions, TreeResult } from "../files.ts";
import { type HeldDirectory, holdInside, holdRoot, treeError } from "./directory.ts";
import { createTreeCount, type TreeCount } from "./limits.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const CHUNK = 64 * 1024;
const DEEPEST = 512;
const PERMISSIONS = 0o777;
// tar-stream writes the time as a signed number of 32 bits.
const LATEST_TIME = 2 ** 31 - 1;

export interface PackedTree {
  readonly stream: Readable;
  /** To be asked when the stream has ended. */
  result(): TreeResult;
}

interface Walk {
  readonly pack: Pack;
  readonly count: TreeCount;
  readonly signal: AbortSignal | undefined;
}

/**
 * Never follows a link below `root`. A file that grows meanwhile is copied as long as it was; one that becomes shorter is an error, since
 * the archive has promised its size already.
 */
export async function packTree(root: string, options: TreeOptions): Promise<PackedTree> {
  const { pack: createPack } = await import("tar-stream");
  const count = createTreeCount(options);
  const directory = await holdRoot(root).catch((error: unknown) => {
    throw treeError("read", root, error);
  });
  const pack = createPack();
  const chunks = pack[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let failure: Error | undefined;
  let walking: Promise<void> | undefined;
  // Told by the stream below.
  pack.on("error", () => {});
  const walk = async () => {
    try {
      await packDirectory({ pack, count, signal: options.signal }, directory, { path: "", depth: 0 });
      pack.finalize();
    } catch (error) {
      failure = error as Error;
      pack.destroy(failure);
    }
  };
  // A stream of Node's own: the library's differs from it in how it fails and closes. Nothing is read before somebody asks for it.
  const stream = new Readable({
    highWaterMark: CHUNK,
    read() {
      walking ??= walk();
      chunks.next().then(
        ({ done, value }) => void (failure ? this.destroy(failure) : this.push(done ? null : value)),
        (error: Error) => void this.destroy(failure ?? error),
      );
    },
    destroy(error, done) {
      pack.destroy();
      Promise.resolve(walking)
        .then(() => directory[Symbol.asyncDispose]())
        .then(() => done(error), done);
    },
  });
  return { stream, result: count.result };
}

async function packDirectory(walk: Walk, directory: HeldDirectory, { path, depth }: { path: string; depth: number }): Promise<void> {
  if (depth > DEEPEST) throw new HoldfastError("too-large", `${path} is nested deeper than ${DEEPEST} directories`, { facts: { path } });
  const names = await readdir(directory.at("."), { encoding: "buffer" }).catch((error: unknown) => {
    throw treeError("read", path || ".", error);
  });
  for (const bytes of names) {
    throwIfAborted(walk.signal, "the tree was not copied");
    const name = bytes.toString("utf8");
    const place = path + name;
    walk.count.entry(place);
    try {
      if (Buffer.from(name).equals(bytes)) await packEntry(walk, directory, { name, path: place, depth });
      else walk.count.skip(place, "its name is not valid UTF-8");
    } catch (error) {
      throw treeError("read", place, error);
    }
  }
}

async function packEntry(
  walk: Walk,
  directory: HeldDirectory,
  { name, path, depth }: { name: string; path: string; depth: number },
): Promise<void> {
  const { pack, count } = walk;
  const facts = await lstat(directory.at(name));
  if (facts.isDirectory()) {
    await using inside = await holdInside(directory, name);
    await addEntry(pack, { ...headerOf(facts), name: `${path}/`, type: "directory" });
    await packDirectory(walk, inside, { path: `${path}/`, depth: depth + 1 });
  } else if (facts.isFile()) {
    await packFile(walk, directory.at(name), path);
  } else if (facts.isSymbolicLink()) {
    const target = await readlink(directory.at(name), { encoding: "buffer" });
    const linkname = target.toString("utf8");
    if (Buffer.from(linkname).equals(target)) await addEntry(pack, { ...headerOf(facts), name: path, type: "symlink", linkname });
    else count.skip(path, "where it points to is not valid UTF-8");
  } else {
    count.skip(path, "it is neither a file nor a directory nor a link");
  }
}

async function packFile({ pack, count, signal }: Walk, place: string, path: string): Promise<void> {
  // Whatever is put there after the look, opening it neither follows a link nor waits for a writer.
  await using file = await open(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const facts = await file.stat();
  if (!facts.isFile()) return count.skip(path, "it is no file any more");
  count.file(path, facts.size);
  const { promise: written, resolve, reject } = Promise.withResolvers<void>();
  written.catch(() => {});
  const entry = pack.entry({ ...headerOf(facts), name: path, type: "file", size: facts.size }, (error) =>
    error ? reject(error) : resolve(),
  );
  entry.on("error", reject);
  for (let offset = 0; offset < facts.size; ) {
    throwIfAborted(signal, "the tree was not copied");
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, facts.size - offset));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    if (bytesRead === 0) {
      throw new HoldfastError("file-failed", `${path} became shorter while it was being copied`, { facts: { path, size: facts.size } });
    }
    offset += bytesRead;
    if (!entry.write(buffer.subarray(0, bytesRead)))
      await Promise.race([written, new Promise<void>((go) => entry.once("drain", () => go()))]);
  }
  entry.end(null);
  await written;
}

function addEntry(pack: Pack, header: Pick<Header, "name"> & Partial<Header>): Promise<void> {
  return new Promise((resolve, reject) => {
    pack.entry(header, (error) => (error ? reject(error) : resolve()));
  });
}

function headerOf({ mode, mtimeMs }: Stats): Pick<Header, "mode" | "mtime"> {
  const seconds = Math.min(Math.max(Math.floor(mtimeMs / 1000), 0), LATEST_TIME);
  return { mode: mode & PERMISSIONS, mtime: new Date(seconds * 1000) };
}
