import { mkdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { createGit } from "../../src/dispatcher/workspaces/git.ts";
import { parseWorktrees } from "../../src/dispatcher/workspaces/repository.ts";
import { forEachTest } from "../helpers/suite.ts";
import { type WorkspaceBench, workspaceBench } from "./workspace-bench.ts";

const IDENTITY = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
const REMOVED = { removed: true, kept: null };
const kept = (reason: string) => ({ removed: false, kept: expect.stringContaining(reason) });

/** A bench with a repository of one commit. */
async function repositoryBench(): Promise<WorkspaceBench & { repo: string }> {
  const bench = await workspaceBench();
  const repo = join(bench.path, "repo");
  bench.bash(`git init -q -b main repo; cd repo; ${IDENTITY}; echo '*.tmp' > .gitignore; echo one > file; git add .; git commit -qm one`);
  return { ...bench, repo };
}

const bench = forEachTest(repositoryBench);
const git = (args: string, cwd = bench.repo) => bench.bash(`${IDENTITY}; git ${args}`, cwd).trim();
const wanted = () => `worktree:${bench.repo}`;

/** With a remote that has everything so far. */
const withRemote = () =>
  bench.bash("git init -q --bare remote; cd repo; git remote add origin ../remote; git push -q origin main; git fetch -q");

async function finished(work: (path: string) => unknown, fields: { branch?: string } = {}) {
  const task = await bench.task({ workspace: wanted(), ...fields });
  const { path } = await bench.workspaces.prepare(task);
  await work(path);
  await bench.finish(task);
  return { task, path, settled: await bench.workspaces.settle(task) };
}

describe("K30 worktrees are made", () => {
  test("K30 in the repository, on a branch of the task, out of sight of git status", async () => {
    const task = await bench.task({ workspace: wanted() });
    const made = await bench.workspaces.prepare(task);
    const path = join(bench.repo, ".worktrees", task.id);
    expect(made).toEqual({ kind: "worktree", path, branch: `holdfast/${task.id}` });
    expect(await readFile(join(path, "file"), "utf8")).toBe("one\n");
    expect(git("branch --show-current", path)).toBe(`holdfast/${task.id}`);
    expect(git("status --porcelain")).toBe("");
    await bench.workspaces.prepare(await bench.task({ workspace: wanted() }));
    expect((await readFile(join(bench.repo, ".git/info/exclude"), "utf8")).match(/^\/\.worktrees\/$/gm)).toHaveLength(1);
  });

  test("K30 from the board's default directory, and from a directory in the repository", async () => {
    await mkdir(join(bench.repo, "sub"));
    await bench.store.editBoard("default", { defaultWorkdir: join(bench.repo, "sub"), by: "test" });
    const task = await bench.task({ workspace: "worktree", branch: "feature/x" });
    expect(await bench.workspaces.prepare(task)).toMatchObject({ path: join(bench.repo, ".worktrees", task.id), branch: "feature/x" });
  });

  test("K30 once: a later run finds the files of the first, and the branch it left", async () => {
    const task = await bench.task({ workspace: wanted() });
    const first = await bench.workspaces.prepare(task);
    await writeFile(join(first.path, "draft"), "half");
    expect(await bench.workspaces.prepare(task)).toEqual(first);
    expect(await readFile(join(first.path, "draft"), "utf8")).toBe("half");
    git("checkout -q -b own-idea", first.path);
    expect(await bench.workspaces.prepare(task)).toEqual({ ...first, branch: "own-idea" });
    expect(bench.records.at(-1)).toMatchObject({ level: "warn", message: expect.stringContaining("is on own-idea") });
  });

  test("K30 again on the same branch, when the directory is gone or was never finished", async () => {
    const task = await bench.task({ workspace: wanted() });
    const { path } = await bench.workspaces.prepare(task);
    bench.bash(`${IDENTITY}; echo two > file; git commit -qam two`, path);
    await rm(path, { recursive: true });
    await bench.workspaces.prepare(task);
    expect(await readFile(join(path, "file"), "utf8")).toBe("two\n");
    await rm(join(path, "file"));
    git(`worktree lock --reason initializing ${path}`);
    await bench.workspaces.prepare(task);
    expect(await readFile(join(path, "file"), "utf8")).toBe("two\n");
  });

  test("K30 on a branch that is there, or that a remote has", async () => {
    withRemote();
    git("branch local");
    bench.bash(
      `${IDENTITY}; git checkout -q -b theirs; echo theirs > file; git commit -qam x; git push -q origin theirs; git checkout -q main; git branch -q -D theirs`,
      bench.repo,
    );
    expect(await bench.workspaces.prepare(await bench.task({ workspace: wanted(), branch: "local" }))).toMatchObject({ branch: "local" });
    const { path } = await bench.workspaces.prepare(await bench.task({ workspace: wanted(), branch: "theirs" }));
    expect(await readFile(join(path, "file"), "utf8")).toBe("theirs\n");
  });

  test("K30 without running a program that the repository names", async () => {
    const trace = join(bench.path, "trace");
    bench.bash(
      `for hook in post-checkout reference-transaction post-index-change; do printf '#!/bin/sh\\necho hook >> ${trace}\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook; done
       printf '#!/bin/sh\\necho monitor >> ${trace}\\n' > .git/monitor; chmod +x .git/monitor; git config core.fsmonitor "$PWD/.git/monitor"; git config core.pager "echo pager >> ${trace}"`,
      bench.repo,
    );
    expect((await finished(() => {})).settled).toEqual(REMOVED);
    await expect(stat(trace)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("K30 worktrees are refused", () => {
  const prepare = async (fields: { workspace?: string; branch?: string }) =>
    bench.workspaces.prepare(await bench.task({ workspace: wanted(), ...fields }));
  const failing = (message: string) => ({ code: "workspace-failed", message: expect.stringContaining(message) });

  test("K30 without a repository", async () => {
    await expect(prepare({ workspace: "worktree" })).rejects.toMatchObject(failing("names no repository"));
    await expect(prepare({ workspace: `worktree:${bench.path}/none` })).rejects.toMatchObject(failing("cannot be opened"));
    await expect(prepare({ workspace: `worktree:${bench.repo}/file` })).rejects.toMatchObject(failing("is not a directory"));
    await expect(prepare({ workspace: `worktree:${bench.path}` })).rejects.toMatchObject(failing("not a git repository"));
    bench.bash("git init -q --bare bare");
    await expect(prepare({ workspace: `worktree:${bench.path}/bare` })).rejects.toMatchObject(failing("must be run in a work tree"));
    bench.bash("git init -q empty");
    await expect(prepare({ workspace: `worktree:${bench.path}/empty` })).rejects.toMatchObject(failing("git in"));
  });

  test("K30 when the branch is checked out elsewhere", async () => {
    await expect(prepare({ branch: "main" })).rejects.toMatchObject(failing(`is checked out at ${bench.repo}`));
    await prepare({ branch: "shared" });
    await expect(prepare({ branch: "shared" })).rejects.toMatchObject(failing("is checked out at"));
  });

  test("K30 for a branch that git would not have, or would take for something else", async () => {
    for (const branch of ["-b", "--force", "@", "HEAD", "@{-1}", "a..b", "a b", "a:b", "a/", "/a", "a.lock", "x~1", "../x", "*"]) {
      await expect(prepare({ branch })).rejects.toMatchObject({ code: "invalid-input" });
      // One that was made before the board looked at it, or by another program.
      const task = await bench.task({ workspace: wanted() });
      await expect(bench.workspaces.prepare({ ...task, branch })).rejects.toMatchObject(
        failing(`${JSON.stringify(branch)} cannot be the name of a branch`),
      );
    }
    expect(git("branch --format='%(refname:short)'")).toBe("main");
  });

  test("K30 when something else is in its place, or in that of its parent", async () => {
    const outside = join(bench.path, "outside");
    await mkdir(outside);
    const task = await bench.task({ workspace: wanted() });
    const path = join(bench.repo, ".worktrees", task.id);
    await symlink(outside, join(bench.repo, ".worktrees"));
    await expect(bench.workspaces.prepare(task)).rejects.toMatchObject(failing("is a link"));
    await rm(join(bench.repo, ".worktrees"));
    await mkdir(join(bench.repo, ".worktrees"));
    await symlink(outside, path);
    await expect(bench.workspaces.prepare(task)).rejects.toMatchObject(failing("is a link"));
    await rm(path);
    await mkdir(path);
    await writeFile(join(path, "file"), "mine");
    await expect(bench.workspaces.prepare(task)).rejects.toMatchObject(failing("already exists"));
    expect(await readFile(join(path, "file"), "utf8")).toBe("mine");
  });

  test("K30 when the repository is somebody else's, in git's own words", async () => {
    // Only root can give files away.
    if (process.getuid?.() !== 0) return;
    bench.bash("chown -R 65534 repo");
    await expect(prepare({})).rejects.toMatchObject(failing("dubious ownership"));
  });

  test("K30 when git takes too long, with all that it started", async () => {
    const bin = join(bench.path, "bin");
    bench.bash(`mkdir bin; printf '#!/bin/sh\\nsleep 1000 & sleep 1000\\n' > bin/git; chmod +x bin/git`);
    const slow = createGit({ clock: systemClock, path: `${bin}:/usr/bin:/bin`, limitMs: 50 });
    await expect(slow.run(bench.repo, ["status"])).rejects.toMatchObject(failing("took longer than 0.05 seconds"));
    const none = createGit({ clock: systemClock, path: join(bench.path, "nothing") });
    await expect(none.run(bench.repo, ["status"])).rejects.toMatchObject(failing("cannot be started"));
  });
});

describe("K30 worktrees of finished tasks", () => {
  test("K30 go when they are clean and without commits of their own; the branch stays", async () => {
    withRemote();
    const { task, path, settled } = await finished((place) => writeFile(join(place, "ignored.tmp"), ""));
    expect(settled).toEqual(REMOVED);
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
    expect(git("worktree list --porcelain")).not.toContain(task.id);
    expect(git(`rev-parse --verify holdfast/${task.id}`)).toBe(git("rev-parse main"));
    expect(await bench.workspaces.settle(task)).toEqual({ removed: false, kept: null });
  });

  test.each([
    ["a change", "echo two > file"],
    ["a staged change", "echo two > file; git add file"],
    ["a new file", "echo new > new"],
    ["a file less", "rm file"],
    ["a new file that the settings hide", "git config status.showUntrackedFiles no; echo new > new"],
    ["a repository of its own in it", "git init -q inner; echo x > inner/x"],
  ])("K30 stay with %s", async (_, script) => {
    const { path, settled } = await finished((place) => bench.bash(script, place));
    expect(settled).toEqual(kept("changes that are not committed"));
    expect((await stat(path)).isDirectory()).toBe(true);
  });

  const COMMIT = `${IDENTITY}; echo two > file; git commit -qam two`;

  test("K30 stay while commits are on no remote, and go when they are pushed", async () => {
    withRemote();
    const { task, settled } = await finished((place) => bench.bash(COMMIT, place));
    expect(settled).toEqual(kept("commits that are on no remote"));
    git(`push -q origin holdfast/${task.id}`);
    expect(await bench.workspaces.settle(task)).toEqual(REMOVED);
  });

  test("K30 stay while the branch of the task has such commits, also if another one is checked out", async () => {
    withRemote();
    const { settled } = await finished((place) => bench.bash(`${COMMIT}; git checkout -q --detach origin/main`, place));
    expect(settled).toEqual(kept("commits that are on no remote"));
  });

  test("K30 go without a remote, since the branch keeps the commits, unless none does", async () => {
    const onBranch = await finished((place) => bench.bash(COMMIT, place));
    expect(onBranch.settled).toEqual(REMOVED);
    expect(git(`show holdfast/${onBranch.task.id}:file`)).toBe("two");
    const detached = await finished((place) =>
      bench.bash(`git checkout -q --detach; ${COMMIT}; ${IDENTITY}; git commit -q --allow-empty -m three`, place),
    );
    expect(detached.settled).toEqual(kept("commits that are on no branch"));
  });

  test("K30 stay for an unfinished child, when they are locked, and with submodules", async () => {
    const parent = await bench.task({ workspace: wanted() });
    await bench.workspaces.prepare(parent);
    const child = await bench.task({ parents: [parent.id] });
    await bench.finish(parent);
    expect(await bench.workspaces.settle(parent)).toEqual(kept(`${child.id} may still need it`));
    const locked = await finished((place) => git(`worktree lock --reason mine ${place}`));
    expect(locked.settled).toEqual(kept("locked"));
    bench.bash(`${IDENTITY}; git init -q -b main part; cd part; git commit -q --allow-empty -m x`);
    const submodule = await finished((place) =>
      bench.bash(`${IDENTITY}; git -c protocol.file.allow=always submodule --quiet add ../../../part; git commit -qm part`, place),
    );
    expect(submodule.settled).toEqual(kept("submodules"));
  });

  test.each([
    ["a repository", "rm .git; git init -q"],
    ["a file that names one", "rm .git; git init -q --separate-git-dir=own.git"],
    ["a file that names that of another worktree", "git worktree add -q --detach ../twin; cp ../twin/.git .git"],
  ])("K30 stay when a worker put %s in place of their own, and nothing that it names is run", async (_, replace) => {
    const trace = join(bench.path, "trace");
    const hostile = `${replace}; printf '#!/bin/sh\\necho ran >> ${trace}\\n' > run; chmod +x run
      git config filter.x.clean "$PWD/run"; echo '* filter=x' > .gitattributes; echo changed > file`;
    const { task, path, settled } = await finished((place) => bench.bash(hostile, place));
    expect(settled).toEqual(kept("is no longer a worktree"));
    await expect(bench.workspaces.prepare(task)).rejects.toMatchObject({ code: "workspace-failed" });
    await expect(stat(trace)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await readFile(join(path, "file"), "utf8")).toBe("changed\n");
  });

  test("K30 stay as long as an unfinished task works there, also when their board is gone", async () => {
    const task = await bench.task({ workspace: wanted() });
    const { path } = await bench.workspaces.prepare(task);
    const users = [await bench.task({ workspace: `dir:${path}` }), await bench.task({ workspace: `worktree:${path}` })];
    // One of the same repository needs no other's.
    await bench.task({ workspace: wanted() });
    await bench.finish(task);
    for (const user of users) {
      expect(await bench.workspaces.settle(task)).toEqual(kept("works in it"));
      const started = { ...task, startedAt: 1 };
      expect(await bench.workspaces.discard([started], { defaultWorkdir: null })).toEqual([
        { path, why: expect.stringContaining("works in it") },
      ]);
      await bench.finish(user);
      await bench.workspaces.settle(user);
    }
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("K30 stay when a link leads to them, or the repository is gone", async () => {
    const linked = await finished(async (place) => {
      await rename(place, `${place}-aside`);
      await symlink(`${place}-aside`, place);
    });
    expect(linked.settled).toEqual(kept("is a link"));
    const task = await bench.task({ workspace: wanted() });
    await bench.workspaces.prepare(task);
    await bench.finish(task);
    await rename(bench.repo, join(bench.path, "moved"));
    expect(await bench.workspaces.settle(task)).toEqual(kept("cannot be opened"));
  });
});

test("K30 the list of worktrees is read field by field", () => {
  const text =
    "worktree /r\0HEAD 1\0branch refs/heads/a/b\0\0worktree /r/new\nline\0HEAD 2\0detached\0locked why so\0\0worktree /x\0bare\0locked\0\0";
  expect(parseWorktrees(text)).toEqual([
    { path: "/r", branch: "a/b", locked: null },
    { path: "/r/new\nline", branch: null, locked: "why so" },
    { path: "/x", branch: null, locked: "" },
  ]);
});
