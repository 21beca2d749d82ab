import { mkdir, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { keepFiles } from "../../src/board/attachments.ts";
import { parseMounts } from "../../src/dispatcher/workspaces/mounts.ts";
import { parseWorkspace } from "../../src/dispatcher/workspaces/parse-workspace.ts";
import { testIf } from "../helpers/requirements.ts";
import { forEachTest } from "../helpers/suite.ts";
import { workspaceBench } from "./workspace-bench.ts";

const bench = forEachTest(workspaceBench);
const REMOVED = { removed: true, kept: null };
const kept = (reason: string) => ({ removed: false, kept: expect.stringContaining(reason) });
const warnings = () => bench.records.filter(({ level }) => level === "warn").map(({ message }) => message);

/** A directory with a file that must outlive everything. */
async function outside(name = "outside"): Promise<string> {
  const path = join(bench.path, name);
  await mkdir(path);
  await writeFile(join(path, "file"), "whole");
  return path;
}

const isWhole = async (path: string) => expect(await readFile(join(path, "file"), "utf8")).toBe("whole");

describe("scratch workspaces", () => {
  test("K30 are private, and the next run finds what the last one left", async () => {
    const task = await bench.task();
    const made = await bench.workspaces.prepare(task);
    expect(made).toEqual({ kind: "scratch", path: bench.files.workspace("default", task.id), branch: null });
    expect((await stat(made.path)).mode & 0o777).toBe(0o700);
    await writeFile(join(made.path, "notes"), "half done");
    expect(await bench.workspaces.prepare(task)).toEqual(made);
    expect(await readFile(join(made.path, "notes"), "utf8")).toBe("half done");
  });

  test("K30 go when the task is done or archived, and not before", async () => {
    const [done, archived] = [await bench.task(), await bench.task()];
    for (const task of [done, archived]) await bench.workspaces.prepare(task);
    expect(await bench.workspaces.settle(done)).toEqual(kept("is not finished"));
    await bench.finish(done);
    await bench.store.archive(archived.id, { by: "test" });
    expect(await bench.workspaces.settle(done)).toEqual(REMOVED);
    expect(await bench.workspaces.settle(archived)).toEqual(REMOVED);
    expect(await bench.workspaces.settle(done)).toEqual({ removed: false, kept: null });
    expect(await readdir(bench.files.workspaces("default"))).toEqual([]);
  });

  test("K30 wait for the last child that is unfinished, which takes its parents' along", async () => {
    const parent = await bench.task();
    const children = [await bench.task({ parents: [parent.id] }), await bench.task({ parents: [parent.id] })] as const;
    const { path } = await bench.workspaces.prepare(parent);
    await bench.finish(parent);
    expect(await bench.workspaces.settle(parent)).toEqual(kept(`${children[0].id}, ${children[1].id} may still need it`));
    await bench.finish(children[0]);
    await bench.workspaces.settle(children[0]);
    expect((await stat(path)).isDirectory()).toBe(true);
    await bench.finish(children[1]);
    await bench.workspaces.settle(children[1]);
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test.each([
    ["there", (path: string) => `dir:${path}`],
    ["in a directory in it that is still to be made", (path: string) => `dir:${path}/sub/new`],
    ["in a directory around it", (path: string) => `dir:${dirname(path)}`],
    ["behind a link to it", () => `dir:${join(bench.path, "link")}`],
    ["in a worktree of a repository in it", (path: string) => `worktree:${path}/repository`],
  ])("K30 stay as long as an unfinished task works %s, linked or not, of whatever board", async (_, workspace) => {
    await bench.store.createBoard("other", { by: "test" });
    const owner = await bench.task();
    const { path } = await bench.workspaces.prepare(owner);
    await symlink(path, join(bench.path, "link"));
    const users = [await bench.task({ workspace: workspace(path), board: "other" }), await bench.task({ workspace: workspace(path) })];
    await bench.finish(owner);
    expect(await bench.workspaces.settle(owner)).toEqual(kept("works in it"));
    expect((await bench.workspaces.sweep("default")).needed).toEqual([{ name: owner.id, why: expect.stringContaining("works in it") }]);
    // The last one takes it along.
    for (const user of users) {
      expect((await stat(path)).isDirectory()).toBe(true);
      await bench.finish(user);
      await bench.workspaces.settle(user);
    }
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("K30 stay where a worker is, although its task names another place by now", async () => {
    const owner = await bench.task();
    const { path } = await bench.workspaces.prepare(owner);
    const user = await bench.task({ workspace: `dir:${path}`, assignee: "coder" });
    const { token } = await bench.store.claim(user.id, { by: "test" });
    const place = { install: "x", boot: "x", pids: "x" };
    await bench.store.recordWorker(user.id, token, {
      place,
      supervisor: { pid: 1, startedAt: "1" },
      mark: "m",
      sandbox: "none",
      workspace: path,
    });
    await bench.store.editTask(user.id, { workspace: "scratch" }, { by: "test" });
    await bench.finish(owner);
    expect(await bench.workspaces.settle(owner)).toEqual(kept(`${user.id} works in it`));
    await bench.store.complete(user.id, {}, { token });
    await bench.workspaces.settle(user);
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("K30 say what was lost with them, except what is kept as an artifact", async () => {
    const task = await bench.task();
    const { path } = await bench.workspaces.prepare(task);
    await writeFile(join(path, "report.md"), "r".repeat(5000));
    await mkdir(join(path, "sub"));
    await writeFile(join(path, "sub", "draft"), "d".repeat(1500));
    await writeFile(join(path, "more"), "m".repeat(500));
    for (const copy of await keepFiles(bench.files.attachments(task.board, task.id), [{ path: "report.md" }], { within: path })) {
      await bench.store.addAttachment(task.id, copy, { by: "test" });
    }
    await bench.finish(task);
    await bench.workspaces.settle(task);
    expect(warnings()).toEqual([`2 files of 2000 bytes went with the workspace of ${task.id} that were not declared as artifacts`]);
    expect(await readFile(join(bench.files.attachments("default", task.id), "report.md"), "utf8")).toHaveLength(5000);
  });

  test("K30 up to 1 KB goes without a word", async () => {
    const task = await bench.task();
    await writeFile(join((await bench.workspaces.prepare(task)).path, "small"), "x".repeat(1024));
    await bench.finish(task);
    expect(await bench.workspaces.settle(task)).toEqual(REMOVED);
    expect(warnings()).toEqual([]);
  });
});

describe("hostile scratch workspaces", () => {
  /** Settles a finished task after `hostile` has been at its workspace. */
  async function settleAfter(hostile: (path: string) => Promise<unknown> | unknown) {
    const task = await bench.task();
    const { path } = await bench.workspaces.prepare(task);
    await hostile(path);
    await bench.finish(task);
    return { task, path, settled: await bench.workspaces.settle(task) };
  }

  test("K30 a link in place of the workspace is neither used nor removed", async () => {
    const target = await outside();
    const { task, settled } = await settleAfter(async (path) => {
      await rename(path, `${path}-aside`);
      await symlink(target, path);
    });
    expect(settled).toEqual(kept("is a link"));
    await expect(bench.workspaces.prepare(task)).rejects.toMatchObject({ code: "workspace-failed" });
    await isWhole(target);
    expect(warnings()).toHaveLength(1);
  });

  test("K30 a file in place of the workspace is neither used nor removed", async () => {
    const { task, path, settled } = await settleAfter(async (place) => {
      await rename(place, `${place}-aside`);
      await writeFile(place, "a file");
    });
    expect(settled).toEqual(kept("is not a directory"));
    await expect(bench.workspaces.prepare(task)).rejects.toMatchObject({ code: "workspace-failed" });
    expect(await readFile(path, "utf8")).toBe("a file");
  });

  test.each([
    ["the root", (path: string) => dirname(path)],
    ["the board", (path: string) => dirname(dirname(path))],
    ["a parent further up", (path: string) => dirname(dirname(dirname(path)))],
  ])("K30 a link in place of %s leads nowhere", async (_, which) => {
    const target = join(bench.path, "moved");
    const { task, settled } = await settleAfter(async (path) => {
      await writeFile(join(path, "file"), "whole");
      await rename(which(path), target);
      await symlink(target, which(path));
    });
    expect(settled).toEqual(kept("is a link"));
    await expect(bench.workspaces.prepare(task)).rejects.toMatchObject({ code: "workspace-failed" });
    await expect(bench.workspaces.sweep("default")).rejects.toMatchObject({ code: "workspace-failed" });
    expect(bench.bash(`find ${target} -name file`)).not.toBe("");
  });

  test("K30 the home may lie behind a link of its owner", async () => {
    await rename(join(bench.path, "home"), join(bench.path, "disk"));
    await symlink("disk", join(bench.path, "home"));
    expect((await settleAfter((path) => writeFile(join(path, "file"), ""))).settled).toEqual(REMOVED);
  });

  test("K30 an id that is no name leaves the root in peace", async () => {
    const task = await bench.task();
    for (const id of ["..", ".", "", "../../default", "a/b", "/etc"]) {
      await expect(bench.workspaces.prepare({ ...task, id })).rejects.toMatchObject({ code: "workspace-failed" });
    }
    await expect(bench.workspaces.prepare({ ...task, board: "../.." })).rejects.toMatchObject({ code: "workspace-failed" });
  });

  test("K30 links in it go, and what they lead to stays", async () => {
    const other = await bench.task();
    const neighbour = (await bench.workspaces.prepare(other)).path;
    await writeFile(join(neighbour, "file"), "whole");
    const target = await outside();
    const { path, settled } = await settleAfter((place) =>
      bench.bash(
        `ln -s /etc etc; ln -s ${target} out; ln -s ${target}/file file; ln -s ../${other.id} neighbour; mkdir d; ln -s ../.. d/up; ln d/up d/hard`,
        place,
      ),
    );
    expect(settled).toEqual(REMOVED);
    await isWhole(target);
    await isWhole(neighbour);
    expect((await stat("/etc/passwd")).isFile()).toBe(true);
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("K30 neither permissions, nor depth, nor names that are no text keep it", async () => {
    const deep = "d".repeat(200);
    const { settled } = await settleAfter((path) =>
      bench.bash(
        `mkdir -p closed/in; touch closed/in/file; chmod 000 closed/in/file closed/in closed
         touch $'new\\nline' $'\\xff\\xfe' -- -rf; mkdir $'\\xff'; touch $'\\xff/\\xfe'
         for ((i = 0; i < 40; i++)); do mkdir ${deep}; cd ${deep}; echo text > file; done`,
        path,
      ),
    );
    expect(settled).toEqual(REMOVED);
    expect(await readdir(bench.files.workspaces("default"))).toEqual([]);
  });

  testIf("mount", "K30 nothing is removed while something is mounted in it", async () => {
    const target = await outside();
    let point = "";
    try {
      const { task, path, settled } = await settleAfter((place) => {
        point = join(place, "a b");
        bench.bash(`mkdir 'a b'; touch own; mount --bind ${target} 'a b'`, place);
      });
      expect(settled).toEqual(kept(`something is mounted at ${point}`));
      await isWhole(target);
      expect(await readdir(path)).toEqual(["a b", "own"]);
      bench.bash(`umount '${point}'`);
      expect(await bench.workspaces.settle(task)).toEqual(REMOVED);
    } finally {
      bench.bash(`! mountpoint -q '${point}' || umount '${point}'`);
    }
    await isWhole(target);
  });

  test("K30 mount points are found by whole names, also escaped ones", () => {
    const info = [
      "22 1 0:5 / /w/t_1/a\\040b rw - x x x",
      "23 1 0:5 / /w/t_10 rw - x x x",
      "24 1 0:5 / /w/t_1 rw - x x x",
      "25 1 0:5 / / rw - x x x",
      "",
    ];
    expect(parseMounts(info.join("\n"), "/w/t_1")).toEqual(["/w/t_1/a b", "/w/t_1"]);
  });
});

describe("directories of the user", () => {
  test("K30 are made if they are missing, and never removed", async () => {
    const path = join(bench.path, "a", "project");
    const task = await bench.task({ workspace: `dir:${path}/` });
    expect(await bench.workspaces.prepare(task)).toEqual({ kind: "dir", path, branch: null });
    await writeFile(join(path, "file"), "whole");
    await bench.finish(task);
    expect(await bench.workspaces.settle(task)).toEqual(kept("user's own"));
    await isWhole(path);
  });

  test("K30 two tasks may run in one, and that is said", async () => {
    const path = await outside();
    await symlink(path, join(bench.path, "alias"));
    const first = await bench.task({ workspace: `dir:${path}`, assignee: "coder" });
    const second = await bench.task({ workspace: `dir:${join(bench.path, "alias")}` });
    const third = await bench.task({ workspace: `dir:${path}` });
    await bench.store.claim(first.id, { by: "test", ttlMs: 60_000 });
    await bench.workspaces.prepare(first);
    expect(warnings()).toEqual([]);
    await bench.workspaces.prepare(second);
    await bench.workspaces.prepare(third);
    const message = `${second.id} works in the same directory as ${first.id}`;
    expect(warnings()).toEqual([expect.stringContaining(message)]);
  });

  test("K30 a file in its place is an error", async () => {
    const path = join(await outside(), "file");
    for (const workspace of [`dir:${path}`, `dir:${path}/below`]) {
      await expect(bench.workspaces.prepare(await bench.task({ workspace }))).rejects.toMatchObject({
        code: "workspace-failed",
        message: expect.stringContaining("a file is in its place"),
      });
    }
  });

  test("K30 a path that climbs is refused, by the store and behind it", async () => {
    await expect(bench.task({ workspace: "dir:/tmp/../etc" })).rejects.toMatchObject({ code: "invalid-input" });
    for (const text of ["dir:/tmp/../etc", "dir:relative", "worktree:/a/..", "dir:", "other", "dir:/a\0b", ""]) {
      expect(() => parseWorkspace(text)).toThrow("is not a workspace");
    }
  });
});

describe("sweeping", () => {
  test("K30 takes the workspaces of tasks that are finished or gone, and says why others stay", async () => {
    const [done, open, parent] = [await bench.task(), await bench.task(), await bench.task()];
    const child = await bench.task({ parents: [parent.id] });
    const elsewhere = (await bench.store.createBoard("other", { by: "test" })).slug;
    const foreign = await bench.task({ board: elsewhere });
    for (const task of [done, open, parent]) await bench.workspaces.prepare(task);
    for (const task of [done, parent, foreign]) await bench.finish(task);
    const target = await outside();
    const root = bench.files.workspaces("default");
    await mkdir(join(root, "t_00000000"));
    await mkdir(join(root, "mine"));
    await mkdir(join(root, foreign.id));
    await symlink(target, join(root, "t_11111111"));
    bench.bash("mkdir $'\\xff'", root);

    const needed = {
      [open.id]: `${open.id} is not finished`,
      [parent.id]: `${child.id} may still need it`,
      [foreign.id]: "the task is on the board other",
      mine: "it is not named like a task",
      "\ufffd": "it is not named like a task",
    };
    const byName = (swept: readonly { name: string; why: string }[]) => Object.fromEntries(swept.map(({ name, why }) => [name, why]));
    const sweep = async (options?: Parameters<typeof bench.workspaces.sweep>[1]) => {
      const swept = await bench.workspaces.sweep("default", options);
      return { removed: byName(swept.removed), needed: byName(swept.needed), kept: byName(swept.kept) };
    };
    const finished = { [done.id]: `${done.id} is done` };
    const gone = { t_00000000: "there is no task t_00000000" };
    const dry = await sweep({ dryRun: true });
    expect(dry).toMatchObject({ removed: { ...finished, ...gone }, needed });
    expect(await readdir(root)).toContain(done.id);
    const known = await sweep({ orphan: async () => false });
    expect(known).toMatchObject({
      removed: finished,
      needed: { ...needed, t_00000000: expect.stringContaining("not known here") },
      kept: {},
    });
    expect(await sweep()).toEqual({ removed: gone, needed, kept: { t_11111111: expect.stringContaining("is a link") } });
    await isWhole(target);
  });

  test("K30 leaves that of a task that is gone to the unfinished one that works in it", async () => {
    const owner = await bench.task();
    const { path } = await bench.workspaces.prepare(owner);
    const user = await bench.task({ workspace: `dir:${path}` });
    await bench.store.archive(owner.id, { by: "test" });
    await bench.store.removeTask(owner.id, { by: "test" });
    expect(await bench.workspaces.sweep("default")).toEqual({
      removed: [],
      needed: [{ name: owner.id, why: `${user.id} works in it` }],
      kept: [],
    });
    await bench.finish(user);
    expect((await bench.workspaces.sweep("default")).removed).toHaveLength(1);
  });

  test("K30 has nothing to do on a board without workspaces", async () => {
    expect(await bench.workspaces.sweep("default")).toEqual({ removed: [], needed: [], kept: [] });
  });
});
