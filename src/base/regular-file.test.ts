import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { readStateFile } from "./regular-file.ts";

test("a file is read, and none is no error", async () => {
  await using directory = await temporaryDirectory();
  await writeFile(join(directory.path, "file"), "grün\n");
  await symlink("file", join(directory.path, "link"));
  expect(readStateFile(join(directory.path, "link"))).toBe("grün\n");
  expect(readStateFile(join(directory.path, "missing"))).toBeUndefined();
});

test.each([
  ["a directory", (path: string) => mkdir(path), "it is a directory"],
  ["a pipe, which nobody waits for", (path: string) => execFileSync("mkfifo", [path]), "it is not a regular file"],
  ["a link to nothing", (path: string) => symlink("nothing", path), "it is a link to a file that does not exist"],
  ["a link to itself", (path: string) => symlink("file", path), "its links lead in a circle"],
  ["too large", (path: string) => writeFile(path, Buffer.alloc(1_000_001)), "it is larger than 1 MB"],
])("%s is an error", async (_, prepare, reason) => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, "file");
  await prepare(path);
  expect(() => readStateFile(path)).toThrow(
    expect.objectContaining({ code: "state-unreadable", message: `cannot read ${path}: ${reason}` }),
  );
});
