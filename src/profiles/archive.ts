/** @module A profile as an archive, `.tar.gz` with one folder in it: making it, and reading one that anybody may have made. */
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Extract, Header } from "tar-stream";
import { describeError, HoldfastError, systemCode } from "../base/errors.ts";
import { parseProfileName } from "../base/names.ts";
import { checkAmount, isPortable, type LeftOut, MOST_BYTES, MOST_FILES, type Portable, type PortableFile } from "./portable.ts";

/** What one entry may cost besides its content: its headers, with the longest names. */
const ENTRY_OVERHEAD = 16 * 1024;
/** Bounded as a whole, too: headers without end would never become an entry that is counted. */
const LARGEST_ARCHIVE = MOST_BYTES + (MOST_FILES + 1) * ENTRY_OVERHEAD;
const LONGEST_PATH = 1_000;
const HINT = "only import what `holdfast profile export` made";

const compress = promisify(gzip);
const decompress = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(gunzip);

export interface UnpackedProfile extends Portable {
  /** Of the folder, which is the profile's name where it was made. */
  readonly name: string;
}

export async function packProfile(name: string, files: readonly PortableFile[]): Promise<Buffer> {
  const { pack: createPack } = await import("tar-stream");
  const pack = createPack();
  for (const { path, content, executable } of files) {
    const mode = executable ? 0o700 : 0o600;
    pack.entry({ name: `${name}/${path}`, mode, mtime: new Date(0) }, Buffer.from(content));
  }
  pack.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of pack as AsyncIterable<Buffer>) chunks.push(chunk);
  return compress(Buffer.concat(chunks));
}

/** Nothing is written anywhere. @throws `archive-refused`, `too-large`, `invalid-name` */
export async function unpackProfile(bytes: Uint8Array): Promise<UnpackedProfile> {
  const { extract: createExtract } = await import("tar-stream");
  const unpacked = await decompress(bytes, { maxOutputLength: LARGEST_ARCHIVE }).catch((error: unknown) => {
    if (systemCode(error) !== "ERR_BUFFER_TOO_LARGE") throw notAnArchive(error);
    throw new HoldfastError("too-large", `the archive unpacks to more than ${LARGEST_ARCHIVE} bytes`, { hint: HINT, cause: error });
  });
  const extract = createExtract();
  const reading = createReading();
  try {
    extract.end(unpacked);
    await readEntries(extract, reading);
  } catch (error) {
    throw HoldfastError.isInstance(error) ? error : notAnArchive(error);
  }
  return reading.result();
}

async function readEntries(extract: Extract, reading: Reading): Promise<void> {
  for await (const entry of extract) {
    const path = reading.enter(entry.header);
    if (path === null) {
      entry.resume();
      continue;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
    reading.add({ path, content: Buffer.concat(chunks), executable: ((entry.header.mode ?? 0) & 0o100) !== 0 });
  }
}

interface Reading {
  /** The path in the profile of a file that is wanted; null for what is to be read past. */
  enter(header: Header): string | null;
  add(file: PortableFile): void;
  result(): UnpackedProfile;
}

function createReading(): Reading {
  const files = new Map<string, PortableFile>();
  const leftOut: LeftOut[] = [];
  let folder: string | undefined;
  let entries = 0;
  let bytes = 0;
  return {
    enter(header) {
      const [top = "", ...rest] = partsOf(header.name);
      folder ??= top;
      if (top !== folder) throw refused(`it has more than one folder: ${shown(folder)} and ${shown(top)}`);
      entries++;
      bytes += header.size ?? 0;
      checkAmount({ files: entries, bytes });
      if (header.type === "directory") return null;
      if (header.type !== "file" && header.type !== "contiguous-file")
        throw refused(`${shown(header.name)} is a ${header.type ?? "thing of an unknown kind"}`);
      const path = rest.join("/");
      if (isPortable(path)) return path;
      leftOut.push({ path: path || top, reason: "it is nothing that a profile takes along" });
      return null;
    },
    add(file) {
      if (files.has(file.path)) throw refused(`${shown(file.path)} is in it twice`);
      files.set(file.path, file);
    },
    result() {
      if (folder === undefined || files.size === 0) throw refused("there is no profile in it");
      for (const path of files.keys()) {
        const inFile = path.split("/").findIndex((_, index, parts) => index > 0 && files.has(parts.slice(0, index).join("/")));
        if (inFile >= 0) throw refused(`${shown(path)} lies below a file`);
      }
      return { name: parseProfileName(folder), files: [...files.values()], leftOut };
    },
  };
}

/** @throws `archive-refused` for everything that could lead out of the folder, or means different things to different readers */
function partsOf(name: string): string[] {
  const parts = name.replace(/\/$/, "").split("/");
  if (name.startsWith("/")) throw refused(`${shown(name)} is an absolute path`);
  if (parts.includes("..")) throw refused(`${shown(name)} leads out of its folder`);
  const odd = parts.some((part) => part === "" || part === "." || part.length > 255) || name.length > LONGEST_PATH;
  if (odd || /[\\\uFFFD]|\p{Cc}/u.test(name)) throw refused(`${shown(name)} is not a name that we write`);
  return parts;
}

function notAnArchive(error: unknown): HoldfastError {
  return refused(`it is not a whole .tar.gz: ${describeError(error)}`, error);
}

function shown(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}

function refused(reason: string, cause?: unknown): HoldfastError {
  return new HoldfastError("archive-refused", `the archive is refused: ${reason}`, { hint: HINT, facts: { reason }, cause });
}
