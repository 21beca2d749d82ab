import { execFileSync } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TemporaryDirectory, temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { dropSetIds } from "./drop-set-ids.ts";

describe("taking set-user-id bits", () => {
  let scratch: TemporaryDirectory;
  let tree: string;
  beforeEach(async () => {
    scratch = await temporaryDirectory();
    tree = join(scratch.path, "tree");
    await mkdir(tree);
  });
  afterEach(() => scratch[Symbol.asyncDispose]());
  const bash = (script: string) => execFileSync("bash", ["-ec", script], { cwd: tree });
  const mode = async (path: string) => ((await stat(join(tree, path))).mode & 0o7777).toString(8);

  test("K27 takes them from files at any depth, and from nothing else", async () => {
    bash(`
      touch ../outside plain both $'\\xff\\nodd' -- -rf; mkdir -p a/b shared ../beside; touch a/b/uid a/gid ../beside/file
      chmod 4755 ../outside ../beside/file a/b/uid -- -rf; chmod 6711 both $'\\xff\\nodd'; chmod 2644 a/gid; chmod 640 plain; chmod 2775 shared
      ln -s ../outside link; ln -s ../beside directory; mkfifo pipe; chmod 4666 pipe`);
    expect(await dropSetIds(tree)).toBe(5);
    expect(await Promise.all(["both", "a/b/uid", "a/gid", "plain", "-rf", "shared"].map(mode))).toEqual([
      ...["711", "755", "644", "640", "755"],
      "2775",
    ]);
    expect(bash("find . -type f -perm /6000").toString()).toBe("");
    expect(await Promise.all(["../outside", "../beside/file"].map(mode))).toEqual(["4755", "4755"]);
    expect(await dropSetIds(tree)).toBe(0);
    expect(await dropSetIds(join(tree, "none"))).toBe(0);
    expect(await dropSetIds(join(tree, "directory"))).toBe(0);
  });

  test("K27 says that a tree is too deep, instead of leaving something in it", async () => {
    bash("mkdir -p $(printf 'd/%.0s' {1..600})");
    await expect(dropSetIds(tree)).rejects.toMatchObject({
      code: "state-write-failed",
      message: expect.stringContaining("too deep"),
      facts: { systemCode: "EPERM" },
    });
  });
});
