import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TemporaryDirectory, temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { removeTree } from "./remove-tree.ts";

const PROGRAM = `import { removeTree } from "${import.meta.dirname}/remove-tree.ts"; await removeTree(process.argv[1]);`;
/** As root nothing would be refused. */
const SOMEONE = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
const asSomeone = (tree: string) => spawnSync(process.execPath, ["--input-type=module", "-e", PROGRAM, tree], { ...SOMEONE, cwd: "/" });
const readable = asSomeone("/nonexistent").status === 0;

describe("removing a tree", () => {
  let scratch: TemporaryDirectory;
  let tree: string;
  beforeEach(async () => {
    scratch = await temporaryDirectory();
    tree = join(scratch.path, "tree");
    await mkdir(join(scratch.path, "outside"));
    await writeFile(join(scratch.path, "outside", "file"), "whole");
  });
  afterEach(() => scratch[Symbol.asyncDispose]());
  const bash = (script: string) => execFileSync("bash", ["-ec", script], { cwd: tree });

  test("takes everything, follows no link, and minds neither names nor depth", async () => {
    await mkdir(tree);
    bash(`
      ln -s ../outside link; ln -s ../outside/file file; ln -s loop loop; mkfifo pipe; mkdir -p a/b/c empty; ln -s ../../../outside a/b/link
      touch a/b/c/file $'\\xff\\xfe' $'new\\nline' -- -rf; mkdir $'\\xff'; touch $'\\xff/\\xff'
      for ((i = 0; i < 50; i++)); do mkdir -p ${"d".repeat(200)}; cd ${"d".repeat(200)}; touch file; done`);
    await removeTree(tree);
    expect(await readdir(scratch.path, { recursive: true })).toEqual(["outside", "outside/file"]);
  });

  test("is done when nothing is there, and takes a link or a file for itself", async () => {
    await removeTree(tree);
    await symlink("outside", tree);
    await removeTree(tree);
    await writeFile(tree, "");
    await removeTree(tree);
    expect(await readdir(scratch.path, { recursive: true })).toEqual(["outside", "outside/file"]);
  });

  test("tells of each regular file that is gone", async () => {
    await mkdir(tree);
    bash("mkdir -p a/b; printf 12345 > a/b/five; printf 1 > one; ln -s ../outside/file link");
    const gone: [string, number][] = [];
    await removeTree(tree, { onFile: (name, bytes) => gone.push([name.toString(), bytes]) });
    expect(gone.sort()).toEqual([
      ["five", 5],
      ["one", 1],
    ]);
  });

  const title = `minds no permissions that the owner can change${readable ? "" : " [needs sources and a node that every user may read]"}`;
  test.skipIf(!readable)(title, async () => {
    await mkdir(tree);
    bash(
      "mkdir -p a/b/c none/x/y blind; touch a/b/c/file none/x/y/file blind/file; chmod 000 none blind none/x; chmod 555 a/b/c a/b a; chmod 500 .",
    );
    if (process.getuid?.() === 0) execFileSync("chown", ["-R", "65534:65534", scratch.path]);
    expect(asSomeone(tree)).toMatchObject({ status: 0 });
    expect(await readdir(scratch.path, { recursive: true })).toEqual(["outside", "outside/file"]);
  });

  test("says what could not be removed", async () => {
    await expect(removeTree("/proc/self/attr")).rejects.toMatchObject({ code: "state-write-failed", facts: { path: "/proc/self/attr" } });
  });
});
