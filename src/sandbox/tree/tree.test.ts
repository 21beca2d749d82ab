import { execFileSync } from "node:child_process";
import { chmod, lstat, mkdir, open, readdir, readFile, readlink, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pack as createPack, type Header } from "tar-stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/helpers/failure-of.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../../../test/helpers/temporary-directory.ts";
import { packTree } from "./pack.ts";
import { unpackArchive } from "./unpack.ts";

let scratch: TemporaryDirectory;
let outside: string;
let target: string;

beforeEach(async () => {
  scratch = await temporaryDirectory();
  outside = join(scratch.path, "outside");
  target = join(scratch.path, "target");
  await mkdir(outside);
  await writeFile(join(outside, "secret"), "untouched");
});
afterEach(async () => {
  // Whatever a test did, nothing may have been written beside the target.
  expect(await readdir(outside)).toEqual(["secret"]);
  expect(await readFile(join(outside, "secret"), "utf8")).toBe("untouched");
  await scratch[Symbol.asyncDispose]();
});

type Made = Partial<Header> & { readonly name: string; readonly content?: string };

async function archive(...entries: readonly Made[]): Promise<Buffer> {
  const pack = createPack();
  for (const { content = "", ...header } of entries) pack.entry(header, content);
  pack.finalize();
  return buffer(pack as AsyncIterable<Buffer>);
}
const unpack = async (bytes: Buffer, options = {}) => unpackArchive(Readable.from([bytes], { objectMode: false }), target, options);
const unpackEntries = async (...entries: readonly Made[]) => unpack(await archive(...entries));
const link = (name: string, linkname: string): Made => ({ name, type: "symlink", linkname });
const directory = (name: string, mode = 0o755): Made => ({ name, type: "directory", mode });

describe("unpacking", () => {
  test("a source that fails before anybody reads it fails the copy, and nothing else", async () => {
    const source = new Readable({ read() {} });
    const copied = unpackArchive(source, target, {});
    source.destroy(new Error("not an archive"));
    expect(await failureOf(copied)).toMatchObject({ message: expect.stringContaining("not an archive") });
  });

  test("files, directories and links come out with their modes and times, but without set-uid", async () => {
    const mtime = new Date(1_500_000_000_000);
    const result = await unpackEntries(
      { ...directory("d/", 0o2555), mtime },
      { name: "d/f", content: "text", mode: 0o4751, mtime },
      { ...link("d/l", "f"), mtime },
      { name: `${"long/".repeat(60)}ü`, content: "x" },
    );
    expect(result).toEqual({ entries: 4, bytes: 5, skipped: [] });
    expect(await readFile(join(target, "d/f"), "utf8")).toBe("text");
    expect(await readlink(join(target, "d/l"))).toBe("f");
    expect(await readFile(join(target, "long/".repeat(60), "ü"), "utf8")).toBe("x");
    for (const [name, mode] of [
      ["d", 0o555],
      ["d/f", 0o751],
      ["d/l", 0o777],
    ] as const) {
      const facts = await lstat(join(target, name));
      expect([name, facts.mode & 0o7777, facts.mtimeMs]).toEqual([name, mode, mtime.getTime()]);
    }
    await chmod(join(target, "d"), 0o755);
  });

  test.for(["../outside/new", "/tmp/holdfast-escape", "a/../../outside/new", "x".repeat(300)])("the name %s is refused", async (name) => {
    expect(await failureOf(unpackEntries({ name, content: "evil" }))).toMatchObject({ code: "protocol" });
    expect(await readdir(target)).toEqual([]);
  });

  test("nothing is written through a link of the archive, or one that was there", async () => {
    await mkdir(target);
    await symlink(outside, join(target, "there"));
    expect(await failureOf(unpackEntries({ name: "there/new", content: "evil" }))).toMatchObject({ code: "file-failed" });
    expect(await failureOf(unpackEntries(directory("there")))).toMatchObject({ code: "file-failed" });
    expect(await failureOf(unpackEntries(directory("d"), link("l", "d"), { name: "l/new", content: "evil" }))).toMatchObject({
      code: "file-failed",
    });
    expect(await readdir(join(target, "d"))).toEqual([]);
  });

  test("a link that was there is replaced by a file, not written through", async () => {
    await mkdir(target);
    await symlink(join(outside, "secret"), join(target, "f"));
    await unpackEntries({ name: "f", content: "new" });
    expect(await readFile(join(target, "f"), "utf8")).toBe("new");
    expect((await lstat(join(target, "f"))).isFile()).toBe(true);
  });

  test("what came once is not changed by what comes later: no directory becomes a link", async () => {
    expect(await failureOf(unpackEntries(directory("d"), link("d", ".")))).toMatchObject({ code: "protocol" });
    expect(await failureOf(unpackEntries({ name: "f", content: "1" }, { name: "./f", content: "2" }))).toMatchObject({ code: "protocol" });
    expect(await readFile(join(target, "f"), "utf8")).toBe("1");
    // Without an entry of its own, the directory is there all the same.
    expect(await failureOf(unpackEntries({ name: "e/f", content: "1" }, link("e", "d")))).toMatchObject({ code: "file-failed" });
    expect((await readdir(target)).sort()).toEqual(["d", "e", "f"]);
  });

  test("links that lead out, hard links and devices are left out, and told", async () => {
    const { entries, skipped } = await unpackEntries(
      link("absolute", join(outside, "secret")),
      link("up", "../outside/secret"),
      directory("p"),
      link("p/root", ".."),
      link("p/back", "root/.."),
      { name: "hard", type: "link", linkname: "../outside/secret" },
      { name: "null", type: "character-device", devmajor: 1, devminor: 3 },
      { name: "pipe", type: "fifo" },
      { name: "last", content: "x" },
    );
    expect(skipped.map(({ path }) => path)).toEqual(["absolute", "up", "p/back", "hard", "null", "pipe"]);
    expect(entries).toBe(3);
    expect((await readdir(target)).sort()).toEqual(["last", "p"]);
    expect(await readdir(join(target, "p"))).toEqual(["root"]);
  });

  test("sizes that lie, and archives that are broken or break off, fail and leave no half file", async () => {
    const whole = await archive({ name: "a", content: "x".repeat(2_000) }, { name: "b", content: "y" });
    for (const bytes of [
      whole.subarray(0, 1_500),
      Buffer.concat([whole.subarray(0, 512), whole.subarray(0, 512)]),
      Buffer.alloc(512, "x"),
    ]) {
      expect(await failureOf(unpack(bytes))).toMatchObject({ code: "protocol" });
      expect(await readdir(target)).toEqual([]);
    }
  });

  test("entries and bytes are bounded, also those of headers that never end", async () => {
    const three = await archive({ name: "a", content: "12345" }, { name: "b", content: "12345" }, { name: "c", content: "12345" });
    expect(await failureOf(unpack(three, { maxEntries: 2 }))).toMatchObject({ code: "too-large" });
    expect((await readdir(target)).sort()).toEqual(["a", "b"]);
    expect(await failureOf(unpack(three, { maxBytes: 9 }))).toMatchObject({ code: "too-large" });
    expect(await unpack(three, { maxBytes: 15, maxEntries: 3 })).toMatchObject({ entries: 3, bytes: 15 });
    const headers = (await archive({ name: "ü".repeat(120), content: "" })).subarray(0, 1_024);
    const source = Readable.from(
      (function* () {
        for (;;) yield headers;
      })(),
      { objectMode: false },
    );
    expect(await failureOf(unpackArchive(source, target, { maxBytes: 10, maxEntries: 10 }))).toMatchObject({ code: "too-large" });
    expect(source.destroyed).toBe(true);
  });

  test("a file where a directory is, or a directory where a file is, is an error that names it", async () => {
    await mkdir(join(target, "d"), { recursive: true });
    await writeFile(join(target, "f"), "");
    expect(await failureOf(unpackEntries({ name: "d", content: "x" }))).toMatchObject({ code: "file-failed", facts: { path: "d" } });
    expect(await failureOf(unpackEntries(directory("f")))).toMatchObject({ code: "file-failed", facts: { path: "f" } });
    expect((await readdir(target)).sort()).toEqual(["d", "f"]);
  });

  test("directories that were there keep their mode", async () => {
    await mkdir(join(target, "d"), { recursive: true });
    await chmod(join(target, "d"), 0o700);
    await unpackEntries(directory("d", 0o777));
    expect((await lstat(join(target, "d"))).mode & 0o777).toBe(0o700);
  });

  test("a source that fails is the reason", async () => {
    const source = Readable.from(
      (async function* () {
        yield (await archive({ name: "a", content: "x".repeat(5_000) })).subarray(0, 1_000);
        throw new Error("the source broke");
      })(),
      { objectMode: false },
    );
    const failure = await failureOf(unpackArchive(source, target, {}));
    expect(failure).toMatchObject({ cause: { message: "the source broke" } });
    expect(await readdir(target)).toEqual([]);
  });
});

describe("packing", () => {
  const read = async (root: string, options = {}) => {
    const { stream, result } = await packTree(root, options);
    const bytes = await buffer(stream);
    return { bytes, result: result() };
  };
  const listed = (bytes: Buffer) => execFileSync("tar", ["-t"], { input: bytes }).toString().split("\n").filter(Boolean).sort();

  test("what is packed comes out the same", async () => {
    const source = join(scratch.path, "source");
    await mkdir(join(source, "d/empty"), { recursive: true });
    await writeFile(join(source, "d/large"), "0123456789".repeat(50_000));
    await writeFile(join(source, "ü".repeat(100)), "name", { mode: 0o640 });
    await symlink(outside, join(source, "out"));
    await symlink("d/large", join(source, "in"));
    await utimes(join(source, "d"), 1_600_000_000, 1_600_000_000);
    const { bytes, result } = await read(source);
    expect(result).toEqual({ entries: 6, bytes: 500_004, skipped: [] });
    const { skipped } = await unpack(bytes);
    expect(skipped.map(({ path }) => path)).toEqual(["out"]);
    expect(await readFile(join(target, "d/large"), "utf8")).toBe("0123456789".repeat(50_000));
    expect(await readlink(join(target, "in"))).toBe("d/large");
    expect((await lstat(join(target, "d"))).mtimeMs).toBe(1_600_000_000_000);
    expect((await lstat(join(target, "ü".repeat(100)))).mode & 0o777).toBe(0o640);
  });

  test("links are not followed, and what cannot be copied is told", async () => {
    const source = join(scratch.path, "source");
    await mkdir(source);
    await symlink(outside, join(source, "link"));
    await writeFile(Buffer.concat([Buffer.from(`${source}/`), Buffer.from([0x66, 0xff])]), "x");
    const server = createServer().listen(join(source, "socket"));
    execFileSync("mkfifo", [join(source, "pipe")]);
    const { bytes, result } = await read(source);
    server.close();
    expect(listed(bytes)).toEqual(["link"]);
    expect(result.entries).toBe(1);
    expect(result.skipped.map(({ path }) => path).sort()).toEqual(["f\uFFFD", "pipe", "socket"]);
  });

  test("entries and bytes are bounded", async () => {
    await mkdir(target);
    await Promise.all(["a", "b", "c"].map((name) => writeFile(join(target, name), "12345")));
    expect(await failureOf(read(target, { maxEntries: 2 }))).toMatchObject({ code: "too-large" });
    expect(await failureOf(read(target, { maxBytes: 14 }))).toMatchObject({ code: "too-large" });
    expect((await read(target, { maxEntries: 3, maxBytes: 15 })).result).toMatchObject({ entries: 3, bytes: 15 });
    expect(await failureOf(read(join(scratch.path, "absent")))).toMatchObject({ code: "file-failed", facts: { systemCode: "ENOENT" } });
  });

  test("a file that becomes shorter is an error that names it; one that grows is copied as it was", async () => {
    await mkdir(target);
    const path = join(target, "f");
    const change = async (to: number) => {
      await writeFile(path, "");
      await truncate(path, 4_000_000);
      const { stream, result } = await packTree(target, {});
      const chunks: Buffer[] = [];
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        if (chunks.push(chunk) === 1) await truncate(path, to);
      }
      return { bytes: Buffer.concat(chunks), result: result() };
    };
    expect(await failureOf(change(2_000_000))).toMatchObject({ code: "file-failed", facts: { path: "f" } });
    const { bytes, result } = await change(5_000_000);
    expect(result).toMatchObject({ bytes: 4_000_000 });
    expect(listed(bytes)).toEqual(["f"]);
  });

  test("giving up closes what was open", async () => {
    await mkdir(target);
    await writeFile(join(target, "f"), "x".repeat(1_000_000));
    const descriptors = async () => (await readdir("/proc/self/fd")).length;
    const before = await descriptors();
    const { stream } = await packTree(target, {});
    await new Promise((resolve) => stream.once("readable", resolve));
    const closed = new Promise((resolve) => stream.once("close", resolve));
    stream.destroy();
    await closed;
    expect(await descriptors()).toBe(before);
    await using _other = await open(join(target, "f"));
  });
});
