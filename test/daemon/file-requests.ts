/** @module The requests about files, one function each. */
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { type Header, pack } from "tar-stream";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createWriter } from "../../src/sandbox/daemon/wire.ts";
import type { Client, Conversation } from "./client.ts";
import { type Entry, PLENTY, readEntry, readOpened, str } from "./frames.ts";

export async function statFile(client: Client, path: string, follow = false): Promise<Entry> {
  const [frame] = await client.ask(FROM_CLIENT.stat, createWriter().str(path).u8(Number(follow)).done());
  return readEntry(frame?.payload ?? Buffer.alloc(0));
}

export async function listFiles(client: Client, path: string): Promise<Entry[]> {
  const frames = await client.ask(FROM_CLIENT.list, str(path));
  return frames.map(({ payload }) => readEntry(payload)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

export async function readBytes(client: Client, path: string, { offset = 0, limit = 0 } = {}): Promise<{ size: number; bytes: Buffer }> {
  const reading = client.open(FROM_CLIENT.readFile, createWriter().str(path).u64(offset).u64(limit).u32(PLENTY).done());
  const size = readOpened(await reading.take(FROM_DAEMON.opened)).offset;
  return { size, bytes: (await reading.finish()).stdout };
}

/** 1: make parents, 2: sync. */
export function openFile(client: Client, path: string, { mode = 0o644, flags = 0 } = {}): Conversation {
  return client.open(FROM_CLIENT.writeFile, createWriter().str(path).u16(mode).u8(flags).done());
}

export async function writeBytes(
  client: Client,
  path: string,
  bytes: Uint8Array,
  options?: { mode?: number; flags?: number },
): Promise<void> {
  const writing = openFile(client, path, options);
  await writing.feed(bytes, readOpened(await writing.take(FROM_DAEMON.opened)).credit);
}

export async function removeFile(client: Client, path: string, all = false): Promise<void> {
  await client.ask(FROM_CLIENT.remove, createWriter().str(path).u8(Number(all)).done());
}

export async function makeDirectory(client: Client, path: string, { mode = 0o755, parents = false } = {}): Promise<void> {
  await client.ask(FROM_CLIENT.mkdir, createWriter().str(path).u16(mode).u8(Number(parents)).done());
}

export async function renameFile(client: Client, from: string, to: string): Promise<void> {
  await client.ask(FROM_CLIENT.rename, createWriter().str(from).str(to).done());
}

export async function tarOut(client: Client, path: string): Promise<Buffer> {
  const packing = client.open(FROM_CLIENT.tarOut, createWriter().str(path).u32(PLENTY).done());
  await packing.take(FROM_DAEMON.opened);
  return (await packing.finish()).stdout;
}

export async function tarIn(client: Client, path: string, archive: Uint8Array): Promise<void> {
  const unpacking = client.open(FROM_CLIENT.tarIn, str(path));
  await unpacking.feed(archive, readOpened(await unpacking.take(FROM_DAEMON.opened)).credit);
}

export type ArchiveEntry = readonly [header: Partial<Header> & { name: string }, content?: string];

/** Names and links as they are given, however hostile. */
export async function archiveOf(...entries: readonly ArchiveEntry[]): Promise<Buffer> {
  const archive = pack();
  for (const [header, content = ""] of entries) archive.entry({ mode: 0o7755, ...header }, content);
  archive.finalize();
  return buffer(Readable.from(archive));
}
