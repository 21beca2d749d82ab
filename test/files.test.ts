import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Connection } from "../src/sandbox/driver.ts";
import type { Files } from "../src/sandbox/files.ts";
import type { DaemonBuild } from "./helpers/daemon.ts";
import { type DaemonSandbox, daemonSandbox } from "./helpers/daemon-sandbox.ts";
import { failureOf } from "./helpers/failure-of.ts";
import { describeIf } from "./helpers/requirements.ts";

const MIB = 1024 * 1024;
const COPY = 100 * MIB;

interface Bench {
  readonly place: DaemonSandbox;
  readonly files: Files;
  readonly connection: Connection;
}

function useSandbox(build: DaemonBuild | null): { readonly bench: Bench; fresh(): Promise<string> } {
  let place: DaemonSandbox | undefined;
  let bench: Bench | undefined;
  beforeAll(async () => {
    place = await daemonSandbox({ build });
    const { sandbox, connection } = await place.open();
    bench = { place, files: sandbox.files, connection };
  });
  afterAll(() => place?.[Symbol.asyncDispose]());
  const ready = () => {
    if (!bench) throw new Error("the sandbox is not there yet");
    return bench;
  };
  return {
    get bench() {
      return ready();
    },
    fresh: () => mkdtemp(join(ready().place.scratch, "d-")),
  };
}

/** What holds with a daemon and without. */
function describeFiles(build: DaemonBuild | null): void {
  const sandbox = useSandbox(build);

  test("a file is written whole, with its mode, and read back", async () => {
    const { files } = sandbox.bench;
    const root = await sandbox.fresh();
    const path = join(root, "new/deep/it's a file");
    await files.write(path, "text ü", { mode: 0o640 });
    expect(await files.read(path)).toEqual(Buffer.from("text ü"));
    expect((await stat(path)).mode & 0o7777).toBe(0o640);
    await files.write(path, Buffer.from([0, 255, 10]));
    expect(Buffer.from(await files.read(path))).toEqual(Buffer.from([0, 255, 10]));
    expect((await stat(path)).mode & 0o7777).toBe(0o644);
    await files.write(path, Readable.from(["from ", "a ", "stream"]));
    expect(Buffer.from(await files.read(path)).toString()).toBe("from a stream");
    await files.write(path, "");
    expect((await files.read(path)).length).toBe(0);
    expect(await readdir(join(root, "new/deep"))).toEqual(["it's a file"]);
    expect(await failureOf(files.write(join(root, "absent/f"), "", { parents: false }))).toMatchObject({ code: "file-not-found" });
  });

  test("reading is bounded, and a stream is not", async () => {
    const { files } = sandbox.bench;
    const path = join(await sandbox.fresh(), "f");
    await writeFile(path, "0123456789");
    expect((await files.read(path, { maxBytes: 10 })).length).toBe(10);
    expect(await failureOf(files.read(path, { maxBytes: 9 }))).toMatchObject({ code: "too-large", facts: { path, maxBytes: 9 } });
    await truncate(path, 3 * MIB);
    expect((await buffer(await files.readStream(path))).length).toBe(3 * MIB);
    const stream = await files.readStream(path);
    const closed = new Promise((resolve) => stream.once("close", resolve));
    stream.destroy();
    await closed;
    expect(await files.stat(path)).toMatchObject({ size: 3 * MIB });
  });

  test("giving up a stream or a read says so", async () => {
    const { files } = sandbox.bench;
    const path = join(await sandbox.fresh(), "f");
    await writeFile(path, "");
    await truncate(path, 64 * MIB);
    const giveUp = new AbortController();
    const stream = await files.readStream(path, { signal: giveUp.signal });
    const failed = new Promise((resolve) => stream.once("error", resolve));
    giveUp.abort();
    expect(await failed).toMatchObject({ code: "aborted" });
    expect(await failureOf(files.read(path, { signal: giveUp.signal }))).toMatchObject({ code: "aborted" });
  });

  test("a source that fails, or a caller that gives up, leaves the old file and nothing else", async () => {
    const { files } = sandbox.bench;
    const root = await sandbox.fresh();
    const path = join(root, "f");
    await writeFile(path, "old");
    const failing = Readable.from(
      (async function* () {
        yield "new";
        throw new Error("the source broke");
      })(),
    );
    expect(await failureOf(files.write(path, failing))).toMatchObject({ code: "invalid-input", cause: { message: "the source broke" } });
    const giveUp = new AbortController();
    const endless = new PassThrough();
    endless.write("new");
    const writing = failureOf(files.write(path, endless, { signal: giveUp.signal }));
    await files.stat(path);
    giveUp.abort();
    expect(await writing).toMatchObject({ code: "aborted" });
    expect(endless.destroyed).toBe(true);
    expect(await failureOf(files.write(path, "new", { signal: giveUp.signal }))).toMatchObject({ code: "aborted" });
    expect(await readdir(root)).toEqual(["f"]);
    expect(await readFile(path, "utf8")).toBe("old");
  });

  test("a directory is listed, and each entry looked at", async () => {
    const { files } = sandbox.bench;
    const root = await sandbox.fresh();
    await mkdir(join(root, "d"));
    await writeFile(join(root, "f"), "12345", { mode: 0o600 });
    await writeFile(join(root, ".hidden -n*"), "");
    await symlink("f", join(root, "l"));
    await symlink("nowhere", join(root, "dangling"));
    const entries = (await files.list(root)).sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(entries.map(({ name, kind, target }) => [name, kind, target])).toEqual([
      [".hidden -n*", "file", null],
      ["d", "directory", null],
      ["dangling", "link", "nowhere"],
      ["f", "file", null],
      ["l", "link", "f"],
    ]);
    const found = await files.stat(join(root, "f"));
    expect(found).toMatchObject({ name: "f", kind: "file", mode: 0o600, size: 5, target: null });
    expect(Math.floor(found.modifiedAt / 1000)).toBe(Math.floor((await lstat(join(root, "f"))).mtimeMs / 1000));
    expect(await files.stat(join(root, "l"))).toMatchObject({ kind: "link", target: "f" });
    expect(await files.stat(join(root, "l"), { follow: true })).toMatchObject({ kind: "file", size: 5 });
    expect(await files.stat(join(root, "dangling"))).toMatchObject({ kind: "link" });
    expect(await failureOf(files.stat(join(root, "dangling"), { follow: true }))).toMatchObject({ code: "file-not-found" });
    expect(await files.list(join(root, "d"))).toEqual([]);
  });

  test("directories are made and things removed", async () => {
    const { files } = sandbox.bench;
    const root = await sandbox.fresh();
    await files.mkdir(join(root, "a/b"), { mode: 0o750 });
    await files.mkdir(join(root, "a/b"));
    expect((await stat(join(root, "a/b"))).mode & 0o777).toBe(0o750);
    expect(await failureOf(files.mkdir(join(root, "a/b"), { parents: false }))).toMatchObject({ code: "file-exists" });
    await writeFile(join(root, "a/b/f"), "");
    await symlink(join(root, "a"), join(root, "l"));
    await files.remove(join(root, "l"), { recursive: true });
    expect(await readdir(join(root, "a"))).toEqual(["b"]);
    expect(await failureOf(files.remove(join(root, "a")))).toMatchObject({ code: "file-failed" });
    await files.remove(join(root, "a/b/f"));
    await files.remove(join(root, "a/b"));
    await files.mkdir(join(root, "a/c/d"));
    await files.remove(join(root, "a"), { recursive: true });
    await files.remove(join(root, "a"), { recursive: true });
    await files.remove(join(root, "a"));
    expect(await readdir(root)).toEqual([]);
  });

  test("what is not there, or is not what it should be, is told", async () => {
    const { files } = sandbox.bench;
    const root = await sandbox.fresh();
    const absent = join(root, "absent");
    for (const work of [() => files.read(absent), () => files.readStream(absent), () => files.list(absent), () => files.stat(absent)]) {
      expect(await failureOf(work())).toMatchObject({ code: "file-not-found", message: expect.stringContaining(absent) });
    }
    await writeFile(join(root, "f"), "");
    for (const work of [() => files.read(root), () => files.write(root, "x"), () => files.list(join(root, "f"))]) {
      expect(await failureOf(work())).toMatchObject({ code: "file-failed" });
    }
    for (const path of ["relative", "", "/a\0b", 5 as unknown as string]) {
      expect(await failureOf(files.read(path))).toMatchObject({ code: "invalid-input" });
      expect(await failureOf(files.write(path, ""))).toMatchObject({ code: "invalid-input" });
    }
    expect(await failureOf(files.write(absent, 5 as unknown as string))).toMatchObject({ code: "invalid-input" });
    expect(await failureOf(files.write(absent, "", { mode: 0o10000 }))).toMatchObject({ code: "invalid-input" });
    expect(await failureOf(files.read(absent, { maxBytes: -1 }))).toMatchObject({ code: "invalid-input" });
  });
}

describeIf("cc", "files through the daemon", () => {
  describeFiles("debug");
  const sandbox = useSandbox("debug");

  test("a failing disk operation carries the system's code", async () => {
    const { files } = sandbox.bench;
    const root = await sandbox.fresh();
    expect(await failureOf(files.read(root))).toMatchObject({ code: "file-failed", facts: { systemCode: "EISDIR" } });
    expect(await failureOf(files.list("/etc/passwd"))).toMatchObject({ code: "file-failed", facts: { systemCode: "ENOTDIR" } });
  });

  test("a file from before all time breaks nothing", async () => {
    const { files } = sandbox.bench;
    const path = join(await sandbox.fresh(), "f");
    execFileSync("touch", ["-d", "@-86400", path]);
    expect(await files.stat(path)).toMatchObject({ name: "f", modifiedAt: -86_400_000 });
  });

  test("a tree goes in and comes back the same", async () => {
    const { files } = sandbox.bench;
    const [source, back] = [await sandbox.fresh(), await sandbox.fresh()];
    const inside = join(await sandbox.fresh(), "made/on the way");
    await mkdir(join(source, "d/e"), { recursive: true });
    await writeFile(join(source, "d/e/f"), "x".repeat(300_000), { mode: 0o755 });
    await writeFile(join(source, "ü".repeat(60)), "long name");
    await symlink("d/e", join(source, "l"));
    await symlink("/etc/passwd", join(source, "out"));
    expect(await files.putTree(source, inside)).toEqual({ entries: 6, bytes: 300_009, skipped: [] });
    const result = await files.getTree(inside, back);
    expect(result).toMatchObject({ entries: 5, bytes: 300_009 });
    expect(result.skipped).toEqual([{ path: "out", reason: expect.stringContaining("/etc/passwd") }]);
    expect((await readdir(back)).sort()).toEqual(["d", "l", "ü".repeat(60)]);
    expect(await readlink(join(back, "l"))).toBe("d/e");
    expect(await readFile(join(back, "l/f"), "utf8")).toBe("x".repeat(300_000));
    expect((await stat(join(back, "d/e/f"))).mode & 0o777).toBe(0o755);
  });

  test("a tree that is too large, or absent, or given up, is refused", async () => {
    const { files } = sandbox.bench;
    const [source, back] = [await sandbox.fresh(), await sandbox.fresh()];
    await Promise.all(["a", "b", "c"].map((name) => writeFile(join(source, name), "12345")));
    const inside = join(await sandbox.fresh(), "copy");
    expect(await failureOf(files.putTree(source, inside, { maxEntries: 2 }))).toMatchObject({ code: "too-large" });
    expect(await failureOf(files.putTree(source, inside, { maxBytes: 14 }))).toMatchObject({ code: "too-large" });
    expect(await failureOf(files.getTree(source, back, { maxEntries: 2 }))).toMatchObject({ code: "too-large" });
    expect(await failureOf(files.getTree(source, back, { maxBytes: 14 }))).toMatchObject({ code: "too-large" });
    const absent = join(source, "absent");
    expect(await failureOf(files.getTree(absent, back))).toMatchObject({ code: "file-not-found", facts: { path: absent } });
    expect(await failureOf(files.putTree(absent, inside))).toMatchObject({ code: "file-failed" });
    expect(await failureOf(files.putTree(source, join(source, "a")))).toMatchObject({ code: "file-exists" });
    const signal = AbortSignal.abort();
    expect(await failureOf(files.getTree(source, back, { signal }))).toMatchObject({ code: "aborted" });
    expect(await failureOf(files.putTree(source, inside, { signal }))).toMatchObject({ code: "aborted" });
    expect(await files.putTree(source, inside)).toMatchObject({ entries: 3 });
  });

  test("giving up in the middle of a large tree lets go of it", async () => {
    const { files } = sandbox.bench;
    const [source, back] = [await sandbox.fresh(), await sandbox.fresh()];
    await writeFile(join(source, "f"), "");
    await truncate(join(source, "f"), 500 * MIB);
    const giveUp = new AbortController();
    const coming = failureOf(files.getTree(source, back, { signal: giveUp.signal }));
    const going = failureOf(files.putTree(source, join(back, "in"), { signal: giveUp.signal }));
    await files.stat(source);
    giveUp.abort();
    expect(await coming).toMatchObject({ code: "aborted" });
    expect(await going).toMatchObject({ code: "aborted" });
    expect(await files.stat(source)).toMatchObject({ kind: "directory" });
  });
});

describeIf("cc", "large files", () => {
  const sandbox = useSandbox("release");

  test("100 MB go in and come out the same, in bounded memory on both sides", async () => {
    const { files, connection } = sandbox.bench;
    const path = join(await sandbox.fresh(), "large");
    const resident = async () => {
      const text = await readFile(`/proc/${connection.daemon?.link.pid}/status`, "utf8");
      return Number(/VmHWM:\s+(\d+)/.exec(text)?.[1]) * 1024;
    };
    setFlagsFromString("--expose-gc");
    const collectGarbage: () => void = runInNewContext("gc");
    /** What is held, not what is only not collected yet. */
    const held = () => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const before = held();
    let most = 0;
    const [sent, received] = [createHash("sha256"), createHash("sha256")];
    const source = Readable.from(
      (function* () {
        for (let index = 0; index < COPY / MIB; index++) {
          const block = Buffer.alloc(MIB, index);
          sent.update(block);
          yield block;
          if (index % 10 === 9) most = Math.max(most, held() - before);
        }
      })(),
      { objectMode: false },
    );
    await files.write(path, source);
    expect((await stat(path)).size).toBe(COPY);
    let total = 0;
    for await (const chunk of await files.readStream(path)) {
      received.update(chunk);
      total += chunk.length;
      if (total % (10 * MIB) < chunk.length) most = Math.max(most, held() - before);
    }
    expect(received.digest("hex")).toBe(sent.digest("hex"));
    expect(most).toBeLessThan(COPY / 2);
    expect(await resident()).toBeLessThan(16 * MIB);
    await rm(path);
  });
});

describe("files without a daemon", () => {
  describeFiles(null);
  const sandbox = useSandbox(null);

  test("trees need the daemon", async () => {
    const { files } = sandbox.bench;
    const root = await sandbox.fresh();
    expect(await failureOf(files.putTree(root, root))).toMatchObject({ code: "daemon-missing" });
    expect(await failureOf(files.getTree(root, root))).toMatchObject({ code: "daemon-missing" });
    await chmod(root, 0o700);
  });
});
