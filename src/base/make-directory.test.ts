import { mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { makeDirectory } from "./make-directory.ts";

test("a directory is made with its parents, private, and may be there already", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "a/b/c");
  await Promise.all([makeDirectory(path), makeDirectory(path), makeDirectory(join(scratch.path, "a/b/d"))]);
  await makeDirectory(path);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  expect((await stat(join(scratch.path, "a"))).mode & 0o777).toBe(0o700);
  await symlink(join(scratch.path, "a"), join(scratch.path, "link"));
  await makeDirectory(join(scratch.path, "link"));
});

test("what is in the way is an error", async () => {
  await using scratch = await temporaryDirectory();
  await writeFile(join(scratch.path, "file"), "");
  await expect(makeDirectory(join(scratch.path, "file"))).rejects.toThrow("EEXIST");
  await expect(makeDirectory(join(scratch.path, "file/below"))).rejects.toThrow("ENOTDIR");
  await mkdir(join(scratch.path, "there"));
});

test("a place where no directory can be made is an error, not an endless search", async () => {
  await expect(makeDirectory("/proc/holdfast-test/below")).rejects.toThrow("ENOENT");
});
