import { execFileSync } from "node:child_process";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { installId } from "./install.ts";

test("an installation gets its id once, and everyone who asks at the same time gets the same", async () => {
  await using directory = await temporaryDirectory();
  const root = join(directory.path, "home");
  const ids = new Set(await Promise.all(Array.from({ length: 20 }, () => installId(root))));
  expect(ids.size).toBe(1);
  expect(ids).toContain(await installId(root));
  expect(await readdir(root)).toEqual(["install-id"]);
  expect((await stat(join(root, "install-id"))).mode & 0o777).toBe(0o600);
  expect(await installId(join(directory.path, "other"))).not.toBe(await installId(root));
});

test.each([
  ["damaged", (path: string) => writeFile(path, "nonsense\n"), "state-unreadable"],
  ["a directory", (path: string) => mkdir(path), "state-unreadable"],
  ["a pipe", (path: string) => execFileSync("mkfifo", [path]), "state-unreadable"],
])("an id that is %s is an error: a new one would lose every sandbox", async (_, prepare, code) => {
  await using directory = await temporaryDirectory();
  await prepare(join(directory.path, "install-id"));
  await expect(installId(directory.path)).rejects.toMatchObject({ code });
});

test("what a killed process left is gone once there is an id, and nothing else is", async () => {
  await using directory = await temporaryDirectory();
  for (const name of ["install-id.0123456789ab", "install-id.backup"]) await writeFile(join(directory.path, name), "");
  await installId(directory.path);
  expect(await readdir(directory.path)).toEqual(["install-id", "install-id.backup"]);
});

test("an id that cannot be written is an error", async () => {
  await using directory = await temporaryDirectory();
  await writeFile(join(directory.path, "file"), "");
  await expect(installId(join(directory.path, "file", "home"))).rejects.toMatchObject({ message: expect.stringContaining("install-id") });
});
