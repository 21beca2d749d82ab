import { chmod, lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTestCli, PROGRAM, type TestCli } from "../helpers/cli.ts";
import { describeIf } from "../helpers/requirements.ts";

const BYTES = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256));

// Each test starts the program many times.
vi.setConfig({ testTimeout: 120_000 });

let cli: TestCli;
/** On the local backend the sandbox sees the same files, so its own are kept in a directory of their own. */
let inside: string;
beforeEach(async () => {
  cli = await createTestCli();
  inside = join(cli.directory, "inside");
  await mkdir(inside);
  await cli.run(["exec", "--cwd", inside, "--", "true"], { cwd: inside });
});
afterEach(async () => {
  for (const task of ["default", "other"]) await cli.run(["sandbox", "rm", task, "--force"]);
  await cli[Symbol.asyncDispose]();
});

/** Relative paths of the host count from the caller's directory, which only a process of its own has. */
const cp = (...args: string[]) => cli.runProcess(["cp", ...args]);
const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);

describeIf("cc", "holdfast cp", () => {
  describe("a file", () => {
    test("is copied in and out with its bytes and its mode", async () => {
      await writeFile(join(cli.directory, "data"), BYTES);
      await chmod(join(cli.directory, "data"), 0o750);
      expect(await cp("data", ":")).toMatchObject({
        status: 0,
        stdout: "",
        stderr: `note: copied 1 entry, 300 kB, to default:${inside}/data\n`,
      });
      expect((await readFile(join(inside, "data"))).equals(BYTES)).toBe(true);
      expect(await modeOf(join(inside, "data"))).toBe("750");
      expect(await cp(":data", "back")).toMatchObject({ status: 0 });
      expect((await readFile(join(cli.directory, "back"))).equals(BYTES)).toBe(true);
      expect(await modeOf(join(cli.directory, "back"))).toBe("750");
      expect((await readdir(cli.directory)).sort()).toEqual(["back", "data", "inside"]);
      expect(await readdir(inside)).toEqual(["data"]);
    });

    test("goes where cp would put it", async () => {
      await writeFile(join(cli.directory, "data"), "1");
      await mkdir(join(inside, "sub"));
      expect((await cp("data", ":sub", "--json")).stdout).toContain(`"to": "default:${inside}/sub/data"`);
      expect((await cp("data", ":sub/new")).status).toBe(0);
      expect((await readdir(join(inside, "sub"))).sort()).toEqual(["data", "new"]);
      expect(await cp("data", ":missing/")).toMatchObject({ status: 1, stderr: expect.stringContaining("error: there is no directory") });
      expect(await cp("data", ":missing/file")).toMatchObject({ status: 1 });
      await mkdir(join(cli.directory, "there"));
      expect((await cp(":sub/new", "there")).status).toBe(0);
      expect(await readdir(join(cli.directory, "there"))).toEqual(["new"]);
      expect(await cp(":sub/new", "missing/file")).toMatchObject({ status: 1, stderr: expect.stringContaining("missing/file") });
    });

    test("comes from a pipe and goes to one", async () => {
      expect(await cli.runProcess(["cp", "-", ":piped"], { input: BYTES })).toMatchObject({ status: 0 });
      expect((await readFile(join(inside, "piped"))).equals(BYTES)).toBe(true);
      const { status, bytes, stderr } = await cp(":piped", "-");
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(bytes.equals(BYTES)).toBe(true);
      const head = await cli.runProcess([`'${process.execPath}' '${PROGRAM}' cp :piped - | head -c 10 | wc -c`], {
        program: ["bash", "-c"],
      });
      expect(head).toMatchObject({ stdout: "10\n", stderr: "" });
    });

    test("keeps what was there when the new one is too large or breaks off", async () => {
      await writeFile(join(cli.directory, "data"), BYTES);
      await writeFile(join(inside, "data"), "old");
      const refused = await cp("--max-mb", "0.1", "data", ":");
      expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("error: the file has more than 104858 bytes") });
      expect(await readFile(join(inside, "data"), "utf8")).toBe("old");
      expect(await readdir(inside)).toEqual(["data"]);
      await writeFile(join(inside, "data"), BYTES);
      await writeFile(join(cli.directory, "data"), "old");
      expect(await cp("--max-mb", "0.1", ":data", "data")).toMatchObject({ status: 1 });
      expect(await readFile(join(cli.directory, "data"), "utf8")).toBe("old");
      expect((await readdir(cli.directory)).sort()).toEqual(["data", "inside"]);
    });

    test("is written through a link, and to what is no file as it is", async () => {
      await writeFile(join(inside, "data"), "text\n");
      await writeFile(join(cli.directory, "target"), "");
      await symlink("target", join(cli.directory, "link"));
      expect((await cp(":data", "link")).status).toBe(0);
      expect(await readlink(join(cli.directory, "link"))).toBe("target");
      expect(await readFile(join(cli.directory, "target"), "utf8")).toBe("text\n");
      expect(await cp(":data", "/dev/null")).toMatchObject({ status: 0 });
      expect((await lstat("/dev/null")).isCharacterDevice()).toBe(true);
    });

    test("is not what only looks like one, since reading that may never end", async () => {
      await cli.run(["exec", "--", `mkfifo '${cli.directory}/pipe' '${inside}/pipe'`]);
      const refused = (error: string) => ({ status: 1, stderr: expect.stringContaining(error) });
      expect(await cp("pipe", ":x")).toMatchObject(refused("error: pipe is neither a file nor a directory"));
      expect(await cp(":pipe", "x")).toMatchObject(refused(`error: default:${inside}/pipe is not a regular file`));
      expect(await cp(":pipe", "-")).toMatchObject(refused(`error: default:${inside}/pipe is not a regular file`));
    });

    test("is copied from one sandbox to another", async () => {
      await writeFile(join(inside, "data"), BYTES);
      expect(await cp(":data", `other:${cli.directory}/copy`)).toMatchObject({ status: 0 });
      expect((await readFile(join(cli.directory, "copy"))).equals(BYTES)).toBe(true);
    });

    test("is found from the session's directory, from home, and by a full path", async () => {
      await cli.run(["exec", "-s", "review", "--", `mkdir -p ${inside}/deep; cd ${inside}/deep; echo here > file; echo home > ~/file`]);
      expect((await cp("-s", "review", ":file", "-")).stdout).toBe("here\n");
      expect((await cp(":~/file", "-")).stdout).toBe("home\n");
      expect((await cp(`:${inside}/deep/file`, "-")).stdout).toBe("here\n");
    });
  });

  describe("a tree", () => {
    beforeEach(async () => {
      const tree = join(cli.directory, "tree");
      await mkdir(join(tree, "sub/empty"), { recursive: true });
      await writeFile(join(tree, "run"), "#!/bin/sh\n", { mode: 0o755 });
      await writeFile(join(tree, "sub/data"), BYTES);
      await symlink("run", join(tree, "link"));
    });

    const shape = async (root: string) => (await readdir(root, { recursive: true })).sort();
    const WHOLE = ["link", "run", "sub", "sub/data", "sub/empty"];

    test("is copied in and out, under the name that cp would give it", async () => {
      const first = JSON.parse((await cp("--json", "tree", ":new")).stdout);
      expect(first).toMatchObject({ from: "tree", to: `default:${inside}/new`, skipped: [] });
      expect(await shape(join(inside, "new"))).toEqual(WHOLE);
      expect(await modeOf(join(inside, "new/run"))).toBe("755");
      expect(await readlink(join(inside, "new/link"))).toBe("run");
      expect((await cp("tree", ":new")).status).toBe(0);
      expect(await shape(join(inside, "new/tree"))).toEqual(WHOLE);
      expect((await cp("tree/.", ":")).status).toBe(0);
      expect(await shape(inside)).toEqual(expect.arrayContaining(WHOLE));

      expect((await cp(":new/tree", "back")).status).toBe(0);
      expect(await shape(join(cli.directory, "back"))).toEqual(WHOLE);
      expect((await readFile(join(cli.directory, "back/sub/data"))).equals(BYTES)).toBe(true);
      expect(await modeOf(join(cli.directory, "back/run"))).toBe("755");
      expect((await cp(":new/tree", "back")).status).toBe(0);
      expect(await shape(join(cli.directory, "back/tree"))).toEqual(WHOLE);
    });

    test("from a sandbox leaves out what leads out of it, and says so", async () => {
      await cli.run([
        "exec",
        "--",
        `cd ${inside}; mkdir bad; echo x > bad/file; ln -s /etc bad/out; ln -s ../../secret bad/up; mkfifo bad/pipe`,
      ]);
      const { status, stderr } = await cp(":bad", "good");
      expect(status).toBe(0);
      expect(await shape(join(cli.directory, "good"))).toEqual(["file"]);
      expect(stderr).toMatch(/^warning: skipped \S*out: /m);
      expect(stderr).toMatch(/^warning: skipped \S*up: /m);
    });

    test("does not follow a link that is in its way on the host", async () => {
      await cli.run(["exec", "--", `cd ${inside}; mkdir -p bad/sub; echo evil > bad/sub/file`]);
      await mkdir(join(cli.directory, "elsewhere"));
      await mkdir(join(cli.directory, "good"));
      await symlink("../elsewhere", join(cli.directory, "good/sub"));
      await cp(":bad/.", "good");
      expect(await readdir(join(cli.directory, "elsewhere"))).toEqual([]);
    });

    test("has limits", async () => {
      expect(await cp("--max-entries", "2", "tree", ":new")).toMatchObject({ status: 1 });
      expect(await cp("--max-mb", "0.1", "tree", ":new")).toMatchObject({ status: 1 });
    });

    test("is not a stream, not a file, and goes from sandbox to sandbox by way of the host", async () => {
      await cp("tree", ":new");
      expect(await cp(":new", "-")).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("is a directory, which cannot be a stream"),
      });
      await writeFile(join(cli.directory, "file"), "kept");
      expect(await cp(":new", "file")).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("file is a file, so a directory cannot"),
      });
      expect(await readFile(join(cli.directory, "file"), "utf8")).toBe("kept");
      expect(await cp(":new", "other:/tmp/x")).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("hint: copy it to a directory on the host"),
      });
    });
  });

  test.each([
    [["a", "b"], 1, "both ends of the copy are on the host"],
    [["-", "-"], 2, "neither end of the copy is in a sandbox"],
    [["-", "file"], 2, "neither end of the copy is in a sandbox"],
    [["nosuch", ":"], 1, "there is no nosuch"],
    [[":nosuch", "x"], 1, "there is no default:"],
    [["other:x", "x"], 1, "has no sandbox for task other"],
    [["", ":"], 2, "a path is empty"],
    [[":x", "-", "--json"], 2, "standard output cannot hold both"],
  ])("cp %j is refused with %i: %s", async (args, status, message) => {
    const result = await cp(...args);
    expect(result).toMatchObject({ status, stdout: "" });
    expect(result.stderr).toContain(message);
  });
});
