import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { access, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createWriter } from "../../src/sandbox/daemon/wire.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forSuite } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createClient } from "./client.ts";
import { listFiles, makeDirectory, openFile, readBytes, removeFile, renameFile, statFile, writeBytes } from "./file-requests.ts";
import { readOpened, str, u32 } from "./frames.ts";
import { eventually } from "./machine.ts";

const ERRNO = { ENOENT: 2, EEXIST: 17, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, ENOTEMPTY: 39 } as const;

describeIf("cc", "files of holdfastd", () => {
  const scratch = forSuite(temporaryDirectory);
  const daemon = forSuite(() => startDaemon(scratch.path));
  let base: string;
  let count = 0;
  beforeEach(async () => {
    base = join(scratch.path, `base-${count++}`);
    await mkdir(base);
  });

  test("are written whole with their mode, and read from any place", async () => {
    await using client = await createClient(daemon);
    const [path, bytes] = [join(base, "file"), randomBytes(1_000_000)];
    await writeBytes(client, path, bytes, { mode: 0o640 });
    expect([(await readFile(path)).equals(bytes), (await stat(path)).mode & 0o7777]).toEqual([true, 0o640]);
    const whole = await readBytes(client, path);
    expect([whole.size, whole.bytes.equals(bytes)]).toEqual([1_000_000, true]);
    expect((await readBytes(client, path, { offset: 10, limit: 5 })).bytes).toEqual(bytes.subarray(10, 15));
    expect((await readBytes(client, path, { offset: 999_999 })).bytes).toEqual(bytes.subarray(-1));
    expect((await readBytes(client, path, { offset: 2_000_000 })).bytes).toHaveLength(0);
    await writeBytes(client, path, new Uint8Array());
    expect(await readBytes(client, path)).toMatchObject({ size: 0 });
    expect(await readdir(base)).toEqual(["file"]);
  });

  test("are written with their parents and to the disk when that is asked for", async () => {
    await using client = await createClient(daemon);
    await expect(writeBytes(client, join(base, "a/b/file"), Buffer.from("x"))).rejects.toMatchObject({ errno: ERRNO.ENOENT });
    await writeBytes(client, join(base, "a/b/file"), Buffer.from("x"), { mode: 0o600, flags: 3 });
    expect((await stat(join(base, "a"))).mode & 0o777).toBe(0o700);
    await expect(writeBytes(client, join(base, "a"), Buffer.from("x"))).rejects.toMatchObject({ errno: ERRNO.EISDIR });
    expect(await readdir(base)).toEqual(["a"]);
  });

  test("are not there before they are whole: not for a writer that gives up, nor for one that vanishes", async () => {
    await using client = await createClient(daemon);
    await writeFile(join(base, "old"), "old");
    const givesUp = openFile(client, join(base, "old"));
    await givesUp.take(FROM_DAEMON.opened);
    givesUp.send(FROM_CLIENT.input, Buffer.from("half"));
    givesUp.send(FROM_CLIENT.detach);
    expect((await givesUp.finish()).last.type).toBe(FROM_DAEMON.done);
    expect(await readdir(base)).toEqual(["old"]);

    const other = await createClient(daemon);
    const vanishes = openFile(other, join(base, "old"));
    await vanishes.take(FROM_DAEMON.opened);
    vanishes.send(FROM_CLIENT.input, Buffer.from("half"));
    await vanishes.take(FROM_DAEMON.inputCredit);
    expect(await readFile(join(base, "old"), "utf8")).toBe("old");
    await other[Symbol.asyncDispose]();
    await eventually(async () => (await readdir(base)).length === 1, "nothing is left beside the file");
    expect(await readFile(join(base, "old"), "utf8")).toBe("old");
  });

  test("are looked at without following a link, unless that is asked for", async () => {
    await using client = await createClient(daemon);
    await writeFile(join(base, "file"), "hello");
    await symlink("file", join(base, "link"));
    expect(await statFile(client, join(base, "link"))).toMatchObject({ name: "link", kind: 3, target: "file" });
    expect(await statFile(client, join(base, "link"), true)).toMatchObject({ kind: 1, size: 5, target: "" });
    expect((await readBytes(client, join(base, "link"))).bytes.toString()).toBe("hello");
    await writeBytes(client, join(base, "link"), Buffer.from("new"));
    expect(await readFile(join(base, "file"), "utf8")).toBe("hello");
    expect(await statFile(client, join(base, "link"))).toMatchObject({ kind: 1, size: 3 });
  });

  test("are listed with what they are, and what is no regular file is not read", async () => {
    await using client = await createClient(daemon);
    await writeFile(join(base, "file"), "hello");
    await symlink("/nonexistent", join(base, "dangling"));
    await mkdir(join(base, "new\nline"));
    execFileSync("mkfifo", [join(base, "pipe")]);
    expect((await listFiles(client, base)).map(({ name, kind }) => [name, kind])).toEqual([
      ["dangling", 3],
      ["file", 1],
      ["new\nline", 2],
      ["pipe", 4],
    ]);
    await expect(readBytes(client, join(base, "pipe"))).rejects.toMatchObject({ errno: ERRNO.EINVAL });
    await expect(readBytes(client, "/dev/zero")).rejects.toMatchObject({ errno: ERRNO.EINVAL });
    await expect(readBytes(client, base)).rejects.toMatchObject({ errno: ERRNO.EISDIR });
    await expect(statFile(client, join(base, "none"))).rejects.toMatchObject({ errno: ERRNO.ENOENT });
    await expect(listFiles(client, join(base, "file"))).rejects.toMatchObject({ errno: ERRNO.ENOTDIR });
    await symlink(base, join(base, "here"));
    await expect(listFiles(client, join(base, "here"))).rejects.toMatchObject({ errno: ERRNO.ENOTDIR });
  });

  test("directories are made, with parents only when that is asked for", async () => {
    await using client = await createClient(daemon);
    await makeDirectory(client, join(base, "one"), { mode: 0o750 });
    expect((await stat(join(base, "one"))).mode & 0o7777).toBe(0o750);
    await expect(makeDirectory(client, join(base, "one"))).rejects.toMatchObject({ errno: ERRNO.EEXIST });
    await expect(makeDirectory(client, join(base, "x/y"))).rejects.toMatchObject({ errno: ERRNO.ENOENT });
    await makeDirectory(client, join(base, "one"), { parents: true });
    await makeDirectory(client, join(base, "x/y/z"), { parents: true });
    expect(await readdir(join(base, "x/y"))).toEqual(["z"]);
  });

  test("are renamed and removed, trees only when that is asked for, and never through a link", async () => {
    await using client = await createClient(daemon);
    const outside = join(scratch.path, "outside");
    await mkdir(outside, { recursive: true });
    await writeFile(join(outside, "kept"), "");
    await writeFile(join(base, "a"), "content");
    await renameFile(client, join(base, "a"), join(base, "b"));
    await expect(renameFile(client, join(base, "a"), join(base, "b"))).rejects.toMatchObject({ errno: ERRNO.ENOENT });
    await removeFile(client, join(base, "b"));
    await removeFile(client, join(base, "b"));
    await mkdir(join(base, "tree/in/it"), { recursive: true });
    await symlink(outside, join(base, "tree/in/link"));
    await expect(removeFile(client, join(base, "tree"))).rejects.toMatchObject({ errno: ERRNO.ENOTEMPTY });
    await removeFile(client, join(base, "tree"), true);
    expect([await readdir(base), await readdir(outside)]).toEqual([[], ["kept"]]);
  });

  test("are read within credit, and reading ends on request", async () => {
    await using client = await createClient(daemon);
    await writeFile(join(base, "file"), "0123456789".repeat(20_000));
    const reading = client.open(FROM_CLIENT.readFile, createWriter().str(join(base, "file")).u64(0).u64(0).u32(7).done());
    expect(readOpened(await reading.take(FROM_DAEMON.opened))).toEqual({ credit: 0, offset: 200_000 });
    expect((await reading.take(FROM_DAEMON.output)).toString()).toBe("\x010123456");
    reading.send(FROM_CLIENT.credit, u32(5));
    expect((await reading.take(FROM_DAEMON.output)).toString()).toBe("\x0178901");
    reading.send(FROM_CLIENT.detach);
    expect((await reading.finish()).last.type).toBe(FROM_DAEMON.done);
  });

  test("a huge directory is listed as its reader reads, and others are served meanwhile", async () => {
    await using client = await createClient(daemon);
    execFileSync("bash", ["-c", 'cd "$1" && seq -f "%0200g" 1 4000 | xargs touch', "bash", base]);
    const slow = await createClient(daemon);
    slow.stream.pause();
    slow.open(FROM_CLIENT.list, str(base));
    expect((await client.call("echo served")).stdout).toBe("served\n");
    expect(await listFiles(client, base)).toHaveLength(4000);
    await slow[Symbol.asyncDispose]();
    await removeFile(client, base, true);
    await expect(access(base)).rejects.toThrow("ENOENT");
  });

  test("a tree deeper than 512 is refused", async () => {
    await using client = await createClient(daemon);
    await mkdir(join(base, "d/".repeat(520)), { recursive: true });
    await expect(removeFile(client, base, true)).rejects.toMatchObject({ errno: 40 });
  });
});
