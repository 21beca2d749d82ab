import { execFileSync } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testIf } from "../../test/helpers/requirements.ts";
import { writeFileAtomic } from "./atomic-file.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-atomic-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe("writeFileAtomic", () => {
  test("makes and replaces a file, with exactly the permissions asked for", async () => {
    const path = join(directory, "file");
    await writeFileAtomic(path, "one", { mode: 0o600 });
    expect([await readFile(path, "utf8"), (await stat(path)).mode & 0o7777]).toEqual(["one", 0o600]);
    await writeFileAtomic(path, new Uint8Array([0, 255]), { mode: 0o666 });
    expect([[...(await readFile(path))], (await stat(path)).mode & 0o7777]).toEqual([[0, 255], 0o666]);
    expect(await readdir(directory)).toEqual(["file"]);
  });

  test("a reader never meets a part: the old content lives on under an open descriptor's inode", async () => {
    const path = join(directory, "file");
    await writeFile(path, "old");
    const before = await stat(path);
    await writeFileAtomic(path, "new", { mode: 0o600 });
    expect((await stat(path)).ino).not.toBe(before.ino);
  });

  test("replaces a link instead of following it", async () => {
    const [path, target] = [join(directory, "link"), join(directory, "target")];
    await writeFile(target, "target");
    await symlink(target, path);
    await writeFileAtomic(path, "new", { mode: 0o600 });
    expect((await lstat(path)).isSymbolicLink()).toBe(false);
    expect(await readFile(target, "utf8")).toBe("target");
  });

  test.runIf(process.getuid?.() === 0)("can keep another owner", async () => {
    const path = join(directory, "file");
    await writeFileAtomic(path, "x", { mode: 0o600, owner: { uid: 1234, gid: 1235 } });
    expect(await stat(path)).toMatchObject({ uid: 1234, gid: 1235 });
  });

  test("a missing directory is named, with the reason", async () => {
    const path = join(directory, "none", "file");
    await expect(writeFileAtomic(path, "x", { mode: 0o600 })).rejects.toMatchObject({
      code: "state-write-failed",
      message: `cannot write ${path}: its directory does not exist`,
      facts: { path, reason: "ENOENT" },
    });
  });

  test("a directory in the place of the file leaves nothing behind", async () => {
    const path = join(directory, "taken");
    await mkdir(join(path, "inside"), { recursive: true });
    await expect(writeFileAtomic(path, "x", { mode: 0o600 })).rejects.toMatchObject({ code: "state-write-failed" });
    expect(await readdir(directory)).toEqual(["taken"]);
  });

  testIf("mount", "a full disk is named, the old content stays and nothing is left behind", async () => {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", directory]);
    try {
      const path = join(directory, "file");
      await writeFileAtomic(path, "old", { mode: 0o600 });
      await expect(writeFileAtomic(path, Buffer.alloc(1 << 20), { mode: 0o600 })).rejects.toMatchObject({
        code: "state-write-failed",
        message: `cannot write ${path}: no space is left on the disk`,
        facts: { reason: "ENOSPC" },
      });
      expect(await readFile(path, "utf8")).toBe("old");
      expect(await readdir(directory)).toEqual(["file"]);
    } finally {
      execFileSync("umount", [directory]);
    }
  });
});
