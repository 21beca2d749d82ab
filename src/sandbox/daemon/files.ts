/** @module The files of a sandbox through the daemon in it. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { HoldfastError, wrapError } from "../../base/errors.ts";
import type { Abortable } from "../driver.ts";
import type { Content, WriteOptions } from "../file-transport.ts";
import type { FileInfo } from "../files.ts";
import type { DaemonLink } from "./link.ts";
import { type PulledOutput, pullOutput } from "./pulled-output.ts";
import { openRequest, type Purpose, readOpened, request, unexpected } from "./requests.ts";
import { createInputGate, type InputGate, OUTPUT_WINDOW } from "./streams.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import { createReader, createWriter, type Frame, protocolError } from "./wire.ts";

const KINDS: Readonly<Record<number, FileInfo["kind"]>> = { 1: "file", 2: "directory", 3: "link", 4: "other" };
/** Of one directory: nobody looks at more, and a daemon that is not what it seems could send them for ever. */
const MOST_ENTRIES = 1_000_000;
const FLAG_PARENTS = 1;
const FLAG_ALL = 1;

/** Opened already, so that a file that cannot be read is told at once. `limit` 0: to the end. */
export async function openFile(
  link: DaemonLink,
  path: string,
  { limit, signal }: Abortable & { readonly limit: number },
): Promise<PulledOutput & { readonly size: number }> {
  const payload = createWriter().str(path).u64(0).u64(limit).u32(OUTPUT_WINDOW).done();
  const output = pullOutput(link, FROM_CLIENT.readFile, payload, { ...about("read", path), ...(signal && { signal }) });
  return { ...output, size: await output.opened };
}

/** A POSIX archive of what is in the directory. */
export async function openTree(link: DaemonLink, path: string, { signal }: Abortable): Promise<PulledOutput> {
  const payload = createWriter().str(path).u32(OUTPUT_WINDOW).done();
  const output = pullOutput(link, FROM_CLIENT.tarOut, payload, { ...about("copy", path), ...(signal && { signal }) });
  await output.opened;
  return output;
}

/** Destroying the stream makes the daemon let go. */
export function asReadable(output: PulledOutput): Readable {
  return new Readable({
    read() {
      output.next().then(
        (chunk) => void this.push(chunk?.bytes ?? null),
        (error: unknown) => void this.destroy(error as Error),
      );
    },
    destroy(error, done) {
      output.detach();
      done(error);
    },
  });
}

export function writeFile(link: DaemonLink, path: string, { content, mode, parents, signal }: WriteOptions): Promise<void> {
  const payload = createWriter()
    .str(path)
    .u16(mode)
    .u8(parents ? FLAG_PARENTS : 0)
    .done();
  return send(link, { type: FROM_CLIENT.writeFile, payload, content, purpose: about("write", path), signal });
}

/** The archive is unpacked below the directory. */
export function unpackTree(link: DaemonLink, path: string, { content, signal }: Abortable & { content: Readable }): Promise<void> {
  const payload = createWriter().str(path).done();
  return send(link, { type: FROM_CLIENT.tarIn, payload, content, purpose: about("copy to", path), signal });
}

export async function statFile(link: DaemonLink, path: string, { follow }: { follow: boolean }): Promise<FileInfo> {
  let found: FileInfo | undefined;
  await request(
    link,
    FROM_CLIENT.stat,
    createWriter()
      .str(path)
      .u8(follow ? 1 : 0)
      .done(),
    {
      ...about("look at", path),
      onFrame(frame) {
        found = readEntry(frame);
        return false;
      },
    },
  );
  if (!found) throw protocolError("nothing about a file that it knows");
  return found;
}

export async function listDirectory(link: DaemonLink, path: string): Promise<FileInfo[]> {
  const found: FileInfo[] = [];
  const { done, detach } = openRequest(link, FROM_CLIENT.list, createWriter().str(path).done(), {
    ...about("list", path),
    onFrame(frame) {
      found.push(readEntry(frame));
      if (found.length === MOST_ENTRIES)
        detach(new HoldfastError("too-large", `${path} has more than ${MOST_ENTRIES} entries`, { facts: { path, limit: MOST_ENTRIES } }));
      return false;
    },
  });
  await done;
  return found;
}

export function removeFile(link: DaemonLink, path: string, { recursive }: { recursive: boolean }): Promise<void> {
  const payload = createWriter()
    .str(path)
    .u8(recursive ? FLAG_ALL : 0)
    .done();
  return request(link, FROM_CLIENT.remove, payload, about("remove", path));
}

export function makeDirectory(link: DaemonLink, path: string, { mode, parents }: { mode: number; parents: boolean }): Promise<void> {
  const payload = createWriter()
    .str(path)
    .u16(mode)
    .u8(parents ? FLAG_PARENTS : 0)
    .done();
  return request(link, FROM_CLIENT.mkdir, payload, about("make", path));
}

interface Sending {
  readonly type: number;
  readonly payload: Buffer;
  readonly content: Content;
  readonly purpose: Purpose;
  readonly signal: AbortSignal | undefined;
}

/** If the content fails or the caller gives up, the daemon is told to let go before this rejects: nothing of ours is left then. */
async function send(link: DaemonLink, { type, payload, content, purpose, signal }: Sending): Promise<void> {
  const opened = Promise.withResolvers<InputGate>();
  let input: InputGate | undefined;
  const { channel, done, detach } = openRequest(link, type, payload, {
    ...purpose,
    ...(signal && { signal }),
    onFrame(frame) {
      switch (frame.type) {
        case FROM_DAEMON.opened:
          input ??= createInputGate(channel, readOpened(frame.payload).credit);
          opened.resolve(input);
          return false;
        case FROM_DAEMON.inputCredit:
          input?.grant(createReader(frame.payload).u32());
          return false;
        default:
          return unexpected(frame);
      }
    },
  });
  // A source that waits for more must not be waited for once nobody takes it; what fed a gate that is closed ends by itself.
  const close = () => input?.close();
  const failed = done.finally(close).then(() => opened.reject(protocolError("an end before the beginning")), opened.reject);
  signal?.addEventListener("abort", close, { once: true });
  try {
    const { stream } = await opened.promise;
    await feed(stream, content).catch((error: unknown) => {
      // When the gate was closed under it, the reason is the request's.
      detach(wrapError(error, "invalid-input", `cannot ${purpose.what}: its source failed`, { facts: purpose.facts }));
    });
    await done;
  } finally {
    signal?.removeEventListener("abort", close);
    await failed;
    if (content instanceof Readable) content.destroy();
  }
}

async function feed(stream: InputGate["stream"], content: Content): Promise<void> {
  if (content instanceof Readable) {
    await pipeline(content, stream);
  } else {
    stream.end(content);
  }
}

function about(what: string, path: string): Purpose {
  return { what: `${what} ${path}`, facts: { path } };
}

function readEntry(frame: Frame): FileInfo {
  if (frame.type !== FROM_DAEMON.entry) return unexpected(frame);
  const reader = createReader(frame.payload);
  const name = reader.str();
  const kind = KINDS[reader.u8()];
  const mode = reader.u32();
  const size = reader.u64();
  // Signed: a file may be as old as it likes.
  const modifiedAt = Number(reader.bytes(8).readBigInt64LE());
  const target = reader.str();
  reader.end();
  if (kind === undefined) throw protocolError("a file of an unknown kind");
  return { name, kind, mode, size, modifiedAt, target: kind === "link" ? target : null };
}
