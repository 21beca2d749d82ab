import { lstat, mkdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostHarness } from "../../test/helpers/host-harness.ts";
import { sandboxSpec } from "../../test/helpers/sandbox-spec.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import type { Connection, FileAccess } from "./driver.ts";
import { createDriver } from "./drivers/memory/driver.ts";
import { createFilesOverSpawn, filesOf } from "./files-over-spawn.ts";

let scratch: TemporaryDirectory;
let connection: Connection;
beforeAll(async () => {
  scratch = await temporaryDirectory();
  const { driver } = await hostHarness(createDriver)(scratch.path);
  connection = await driver.connect(await driver.create({ install: "i", profile: "p", task: "t" }, sandboxSpec()));
});
afterAll(async () => {
  await connection[Symbol.asyncDispose]();
  await scratch[Symbol.asyncDispose]();
});

test("a connection's own access is preferred, and programs take its place", () => {
  expect(filesOf(connection)).toBe(connection.files);
  const { files: _, ...bare } = connection;
  expect(filesOf(bare)).not.toBe(connection.files);
});

describe.each([
  ["the fast path", () => connection.files as FileAccess],
  ["programs", () => createFilesOverSpawn(connection)],
])("files through %s", (name, access) => {
  const at = (...path: string[]) => join(connection.stateDir, name.replace(" ", "-"), ...path);

  test("what was written is read back, byte for byte", async () => {
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
    await access().write(at("read", "any bytes\n"), bytes);
    expect(Buffer.from((await access().read(at("read", "any bytes\n"))) ?? []).equals(bytes)).toBe(true);
    await access().write(at("read", "any bytes\n"), Buffer.from("shorter"));
    expect(Buffer.from((await access().read(at("read", "any bytes\n"))) ?? []).toString()).toBe("shorter");
    await access().write(at("read", "-n"), new Uint8Array());
    expect(await access().read(at("read", "-n"))).toHaveLength(0);
  });

  test("a file that is not there is null, and an unreadable one an error", async () => {
    expect(await access().read(at("none", "at all"))).toBeNull();
    await mkdir(at("directory"), { recursive: true });
    await expect(access().read(at("directory"))).rejects.toMatchObject({ code: "state-unreadable", facts: { path: at("directory") } });
  });

  test("files and the directories made for them are private", async () => {
    await access().write(at("private", "deep", "file"), Buffer.from("x"));
    const modes = await Promise.all(["private", "private/deep", "private/deep/file"].map((path) => stat(at(path))));
    expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o700, 0o600]);
  });

  test("a directory is listed with kinds and times; none is empty", async () => {
    await access().write(at("list", "with space"), Buffer.from("x"));
    await access().write(at("list", ".hidden"), Buffer.from("x"));
    await access().write(at("list", "line\nbreak"), Buffer.from("x"));
    await access().write(at("list", "sub", "file"), Buffer.from("x"));
    await symlink("/not/there", at("list", "dangling"));
    await symlink(".", at("list", "link"));
    await utimes(at("list", "with space"), 1_000_000, 1_000_000);
    const entries = await access().list(at("list"));
    expect(entries.map(({ name, directory }) => [name, directory]).sort()).toEqual([
      [".hidden", false],
      ["dangling", false],
      ["line\nbreak", false],
      ["link", false],
      ["sub", true],
      ["with space", false],
    ]);
    expect(entries.find((entry) => entry.name === "with space")?.modifiedAt).toBe(1_000_000_000);
    expect(await access().list(at("not there"))).toEqual([]);
  });

  test("removing takes files and trees, never what a link points at, and absent is fine", async () => {
    await access().write(at("keep", "file"), Buffer.from("kept"));
    await access().write(at("remove", "deep", "file"), Buffer.from("x"));
    await symlink(at("keep"), at("remove", "link"));
    await symlink(at("keep"), at("link"));
    for (const path of ["remove", "link", "never there"]) await access().remove(at(path));
    await expect(lstat(at("remove"))).rejects.toThrow("ENOENT");
    await expect(lstat(at("link"))).rejects.toThrow("ENOENT");
    expect(await readFile(at("keep", "file"), "utf8")).toBe("kept");
  });

  test("what cannot be written is an error that names the file", async () => {
    await mkdir(at("blocked"), { recursive: true });
    await writeFile(at("blocked", "file"), "in the way");
    const attempt = access().write(at("blocked", "file", "below"), Buffer.from("x"));
    await expect(attempt).rejects.toMatchObject({ code: "state-write-failed", facts: { path: at("blocked", "file", "below") } });
    await expect(access().write(at("blocked"), Buffer.from("x"))).rejects.toMatchObject({ code: "state-write-failed" });
  });
});
