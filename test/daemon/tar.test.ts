import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { chmod, lstat, lutimes, mkdir, readdir, readFile, readlink, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createWriter } from "../../src/sandbox/daemon/wire.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forSuite } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createClient } from "./client.ts";
import { archiveOf, tarIn, tarOut } from "./file-requests.ts";
import { u32 } from "./frames.ts";

const LONG = "n".repeat(200);

describeIf("cc", "trees in and out of holdfastd", () => {
  const scratch = forSuite(temporaryDirectory);
  const daemon = forSuite(() => startDaemon(scratch.path));
  let source: string;
  let wanted: Record<string, string>;
  const place = (name: string) => join(scratch.path, name);
  beforeAll(async () => {
    source = place("source");
    await makeNastyTree(source);
    wanted = await describeTree(source);
  });

  test("come back as they were, also over what is there", async () => {
    await using client = await createClient(daemon);
    const archive = await tarOut(client, source);
    expect(archive.length % 512).toBe(0);
    await tarIn(client, place("copy"), archive);
    expect(await describeTree(place("copy"))).toEqual(wanted);
    await tarIn(client, place("copy"), archive);
    expect(await describeTree(place("copy"))).toEqual(wanted);
  });

  // So many that their headers end just where what is sent at once does.
  test.for([1, 63, 64, 126, 127, 128, 129, 255, 256, 300, 1000])("with %i files in one directory come out whole", async (count) => {
    await using client = await createClient(daemon);
    const directory = place(`many-${count}`);
    await mkdir(directory);
    for (let index = 0; index < count; index++) await writeFile(join(directory, String(index)), index % 2 ? "line\n" : "");
    await tarIn(client, place(`copy-${count}`), await tarOut(client, directory));
    expect(await describeTree(place(`copy-${count}`))).toEqual(await describeTree(directory));
  });

  test("a file that becomes shorter while it is copied is told, not made up", async () => {
    await using client = await createClient(daemon);
    await mkdir(place("shrinking"));
    await writeFile(join(place("shrinking"), "file"), randomBytes(8_000_000));
    const reading = client.open(FROM_CLIENT.tarOut, createWriter().str(place("shrinking")).u32(100_000).done());
    await reading.take(FROM_DAEMON.opened);
    await reading.take(FROM_DAEMON.output);
    await truncate(join(place("shrinking"), "file"), 1000);
    reading.send(FROM_CLIENT.credit, u32(20_000_000));
    await expect(reading.finish()).rejects.toThrow("shorter");
  });

  test("are read by GNU tar", async () => {
    await using client = await createClient(daemon);
    await writeFile(place("out.tar"), await tarOut(client, source));
    await mkdir(place("by-tar"));
    execFileSync("tar", ["-xpf", place("out.tar"), "-C", place("by-tar")]);
    expect(await describeTree(place("by-tar"))).toEqual(wanted);
  });

  test.for(["gnu", "pax"])("are taken from GNU tar in the format %s", async (format) => {
    await using client = await createClient(daemon);
    const archive = place(`${format}.tar`);
    execFileSync("tar", [`--format=${format}`, "--exclude=pipe", "-cf", archive, "-C", source, "."]);
    await tarIn(client, place(format), await readFile(archive));
    expect(await describeTree(place(format))).toEqual(wanted);
  });

  test("come within any credit, and go in pieces of any size", async () => {
    await using client = await createClient(daemon);
    const whole = await tarOut(client, source);
    const packing = client.open(FROM_CLIENT.tarOut, createWriter().str(source).u32(0).done());
    await packing.take(FROM_DAEMON.opened);
    const parts: Buffer[] = [];
    for (let got = 0, step = 0; got < whole.length; step++) {
      const granted = Math.min([1, 511, 70_000, 300_000][step % 4] ?? 1, whole.length - got);
      packing.send(FROM_CLIENT.credit, u32(granted));
      for (let left = granted; left > 0; ) {
        const part = (await packing.take(FROM_DAEMON.output)).subarray(1);
        parts.push(part);
        left -= part.length;
      }
      got += granted;
    }
    await packing.take(FROM_DAEMON.done);
    expect(Buffer.concat(parts).equals(whole)).toBe(true);

    const small = await archiveOf([{ name: "a/b" }, "x".repeat(600)], [{ name: LONG }, "long"]);
    const unpacking = client.open(FROM_CLIENT.tarIn, createWriter().str(place("pieces")).done());
    await unpacking.take(FROM_DAEMON.opened);
    for (let at = 0; at < small.length; at += 7) unpacking.send(FROM_CLIENT.input, small.subarray(at, at + 7));
    unpacking.send(FROM_CLIENT.inputEnd);
    await unpacking.finish();
    expect((await readdir(place("pieces"))).sort()).toEqual(["a", LONG]);
  });

  test("keep hard links that are in the archive, and no set-uid", async () => {
    await using client = await createClient(daemon);
    await tarIn(
      client,
      place("hard"),
      await archiveOf([{ name: "one", mode: 0o6755 }, "abc"], [{ name: "sub/two", type: "link", linkname: "one" }]),
    );
    const [one, two] = [await stat(place("hard/one")), await stat(place("hard/sub/two"))];
    expect([one.ino === two.ino, one.mode & 0o7777]).toEqual([true, 0o755]);
  });

  test("what is no directory is refused", async () => {
    await using client = await createClient(daemon);
    await expect(tarOut(client, "/etc/passwd")).rejects.toMatchObject({ errno: 20 });
    await expect(tarOut(client, place("none"))).rejects.toMatchObject({ errno: 2 });
    await expect(tarIn(client, "/etc/passwd", Buffer.alloc(1024))).rejects.toMatchObject({ errno: 20 });
  });
});

async function makeNastyTree(base: string): Promise<void> {
  await mkdir(base);
  const files: readonly [name: string, content: string | Buffer, mode: number][] = [
    ["empty", "", 0o644],
    ["exe", "#!/bin/sh\n", 0o755],
    ["block", "x".repeat(512), 0o600],
    ["block and one", "x".repeat(513), 0o444],
    ["big", randomBytes(700_000), 0o640],
    [LONG, "long", 0o644],
    ["new\nline", "n", 0o644],
    ["quote'\"$(x)", "q", 0o644],
    ["-rf", "d", 0o644],
    ["=é=", "u", 0o644],
  ];
  for (const [name, content, mode] of files) {
    await writeFile(join(base, name), content);
    await chmod(join(base, name), mode);
    await utimes(join(base, name), 1, 1_234_567_890 + name.length);
  }
  let deep = base;
  for (let i = 0; i < 12; i++) {
    deep = join(deep, `directory-${i}`.repeat(3));
    await mkdir(deep);
    await writeFile(join(deep, "file"), `${i}`);
  }
  await mkdir(join(base, "read-only"));
  await writeFile(join(base, "read-only/file"), "x");
  await chmod(join(base, "read-only"), 0o555);
  for (const [name, target] of Object.entries({
    relative: "exe",
    absolute: "/etc/passwd",
    up: "../../..",
    long: "x".repeat(300),
    loop: ".",
  })) {
    await symlink(target, join(base, name));
    await lutimes(join(base, name), 9, 99);
  }
  execFileSync("mkfifo", [join(base, "pipe")]);
  await utimes(join(base, "read-only"), 5, 5);
}

/** Kind, mode, time and content of all that an archive can hold. */
async function describeTree(base: string, below = ""): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const name of await readdir(join(base, below))) {
    const path = join(base, below, name);
    const entry = await lstat(path);
    const about = `${(entry.mode & 0o7777).toString(8)} ${Math.floor(entry.mtimeMs / 1000)}`;
    if (entry.isSymbolicLink()) tree[join(below, name)] = `link ${about} ${await readlink(path)}`;
    if (entry.isFile())
      tree[join(below, name)] = `file ${about} ${createHash("sha256")
        .update(await readFile(path))
        .digest("hex")}`;
    if (entry.isDirectory())
      Object.assign(tree, { [join(below, name)]: `directory ${about}` }, await describeTree(base, join(below, name)));
  }
  return tree;
}
