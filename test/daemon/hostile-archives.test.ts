import { randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forSuite } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createClient } from "./client.ts";
import { type ArchiveEntry, archiveOf, tarIn } from "./file-requests.ts";
import { readOpened, str } from "./frames.ts";
import { descriptorsOf, memoryOf } from "./machine.ts";

const EPERM = 1;
const ENOENT = 2;
const ENOTDIR = 20;
const EISDIR = 21;
const EINVAL = 22;
const EFBIG = 27;
const ENOTSUP = 95;
const MIB = 1024 * 1024;

const toOutside = (name: string, linkname = "../outside"): ArchiveEntry => [{ name, type: "symlink", linkname }];

const HOSTILE: Readonly<Record<string, { errno: number; entries: readonly ArchiveEntry[] }>> = {
  "a name above": { errno: EPERM, entries: [[{ name: "../outside/evil" }, "x"]] },
  "a name above further in": { errno: EPERM, entries: [[{ name: "a/../../outside/evil" }, "x"]] },
  "an absolute name": { errno: EPERM, entries: [[{ name: "/tmp/holdfast-evil" }, "x"]] },
  "the directory above": { errno: EPERM, entries: [[{ name: "..", type: "directory" }]] },
  "a file named ..": { errno: EPERM, entries: [[{ name: "a/.." }, "x"]] },
  "a file through a link": { errno: ENOTDIR, entries: [toOutside("l"), [{ name: "l/evil" }, "x"]] },
  "a directory through a link": { errno: ENOTDIR, entries: [toOutside("l", ".."), [{ name: "l/outside/evil", type: "directory" }]] },
  "a directory in place of a link": { errno: ENOTDIR, entries: [toOutside("l"), [{ name: "l", type: "directory" }]] },
  "a hard link above": { errno: EPERM, entries: [[{ name: "h", type: "link", linkname: "../outside/victim" }]] },
  "an absolute hard link": { errno: EPERM, entries: [[{ name: "h", type: "link", linkname: "/etc/passwd" }]] },
  "a hard link through a link": { errno: ENOTDIR, entries: [toOutside("l"), [{ name: "h", type: "link", linkname: "l/victim" }]] },
  "a hard link to nothing": { errno: ENOENT, entries: [[{ name: "h", type: "link", linkname: "none" }]] },
  "a device": { errno: ENOTSUP, entries: [[{ name: "device", type: "character-device" }]] },
  "a named pipe": { errno: ENOTSUP, entries: [[{ name: "pipe", type: "fifo" }]] },
  "a file in place of the root": { errno: EISDIR, entries: [[{ name: "." }, "x"]] },
  "a file in place of a directory": { errno: EISDIR, entries: [[{ name: "d", type: "directory" }], [{ name: "d" }, "x"]] },
};

describeIf("cc", "archives that holdfastd must not trust", () => {
  const scratch = forSuite(temporaryDirectory);
  const daemon = forSuite(() => startDaemon(scratch.path));
  let outside: string;
  beforeAll(async () => {
    outside = join(scratch.path, "outside");
    await mkdir(outside);
    await writeFile(join(outside, "victim"), "safe");
  });
  const expectUntouched = async () => {
    expect(await readdir(outside)).toEqual(["victim"]);
    expect([await readFile(join(outside, "victim"), "utf8"), (await lstat(join(outside, "victim"))).nlink]).toEqual(["safe", 1]);
  };

  test.for(Object.entries(HOSTILE))("%s is refused, and nothing outside is touched", async ([name, { errno, entries }]) => {
    await using client = await createClient(daemon);
    await expect(tarIn(client, join(scratch.path, name.replaceAll(" ", "-")), await archiveOf(...entries))).rejects.toMatchObject({
      errno,
    });
    await expectUntouched();
  });

  test("a link that is replaced by a file is replaced, not written through", async () => {
    await using client = await createClient(daemon);
    const into = join(scratch.path, "replaced");
    await tarIn(client, into, await archiveOf(toOutside("l", "../outside/victim"), [{ name: "l" }, "new"]));
    expect(await readFile(join(into, "l"), "utf8")).toBe("new");
    await expectUntouched();
  });

  test("an archive without an end, and what is no archive, fails", async () => {
    await using client = await createClient(daemon);
    const whole = await archiveOf([{ name: "a" }, "x".repeat(600)]);
    for (const part of [whole.subarray(0, 700), whole.subarray(0, 1536), Buffer.alloc(0), Buffer.alloc(511), randomBytes(5120)]) {
      await expect(tarIn(client, join(scratch.path, "junk"), part)).rejects.toMatchObject({ errno: EINVAL });
    }
    await tarIn(client, join(scratch.path, "junk"), Buffer.alloc(1024));
  });

  test("an archive whose every byte may be wrong does no harm", async () => {
    await using client = await createClient(daemon);
    const good = await archiveOf([{ name: "a" }, "x".repeat(600)], [{ name: "b".repeat(150) }, "y"], toOutside("l"), [
      { name: "d", type: "directory" },
    ]);
    const descriptors = descriptorsOf(daemon.pid);
    for (let round = 0; round < 300; round++) {
      const bad = Buffer.from(good);
      for (let i = 0; i <= round % 4; i++) bad[Math.floor(Math.random() * bad.length)] = Math.floor(Math.random() * 256);
      // Whether it is refused or not is chance: the sanitizers and what lies outside tell.
      await tarIn(client, join(scratch.path, "mutated"), bad).catch((error) => expect(error).toHaveProperty("errno"));
    }
    expect(descriptorsOf(daemon.pid)).toBeLessThanOrEqual(descriptors);
    await expectUntouched();
  });

  test("an endless archive, and an endless name in it, take no memory", async () => {
    await using place = await temporaryDirectory();
    await using release = await startDaemon(place.path, { build: "release" });
    await using client = await createClient(release);
    const before = memoryOf(release.pid);
    const header = (await archiveOf([{ name: "x" }])).subarray(0, 512);
    const records = Buffer.alloc(512);
    records.write("11 path=xy\n");
    const piece = Buffer.concat(Array.from({ length: 200 }, () => [retyped(header, "x", 11), records]).flat());
    const unpacking = client.open(FROM_CLIENT.tarIn, str(join(place.path, "endless")));
    let { credit } = readOpened(await unpacking.take(FROM_DAEMON.opened));
    for (let sent = 0; sent < 32 * MIB; sent += piece.length) {
      while (credit < piece.length) credit += (await unpacking.take(FROM_DAEMON.inputCredit)).readUInt32LE();
      unpacking.send(FROM_CLIENT.input, piece);
      credit -= piece.length;
    }
    await client.status();
    expect((memoryOf(release.pid) - before) * 1024).toBeLessThan(8 * MIB);
    const endlessName = Buffer.concat([retyped(header, "L", 0o77777777777), Buffer.alloc(4096, "n")]);
    await expect(tarIn(client, join(place.path, "name"), endlessName)).rejects.toMatchObject({ errno: EFBIG });
  });
});

/** The header of an entry of another type and size, with its checksum set right. */
function retyped(header: Buffer, type: string, size: number): Buffer {
  const changed = Buffer.from(header);
  changed.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  changed.write(`        ${type}`, 148);
  const sum = changed.reduce((total, byte) => total + byte, 0);
  changed.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return changed;
}
