import { execFileSync } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";
import { systemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { boardFiles } from "../../board/files.ts";
import { openStore } from "../../board/store.ts";
import { createWorkspaces } from "../../dispatcher/workspaces/create-workspaces.ts";

const IDENTITY = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
const CHANGE = "echo two > file";
/** Its own message: two that say the same in the same second would be one commit. */
const COMMIT = `${CHANGE}; git commit -qam "$PWD"`;
const BOARD = "site";
const REMOVE_BOARD = ["kanban", "boards", "rm", BOARD, "--confirm", BOARD];

interface Kept {
  path: string;
  why: string;
}

const bash = (script: string, cwd: string) => execFileSync("bash", ["-ec", `${IDENTITY}; ${script}`], { cwd, encoding: "utf8" });
const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** A repository whose one commit is on its remote, and a board with it as default directory. */
async function repositoryOf(cli: TestCli): Promise<string> {
  bash(
    "git init -q --bare -b main remote; git init -q -b main repo; cd repo; echo one > file; git add .; git commit -qm one",
    cli.directory,
  );
  bash("git remote add origin $PWD/../remote; git push -q origin main; git fetch -q", join(cli.directory, "repo"));
  const repo = bash("pwd -P", join(cli.directory, "repo")).trim();
  await cli.run(["kanban", "boards", "create", BOARD, "--default-workdir", repo]);
  return repo;
}

type End = "done" | "archived" | "blocked";

/** A task of which a run has worked in its worktree. */
async function worked(cli: TestCli, script: string, { workspace = "worktree", end = "done" }: { workspace?: string; end?: End } = {}) {
  await using store = await openStore(join(cli.home, "kanban/board.db"));
  const log = silentLogger;
  const workspaces = createWorkspaces({ store, files: boardFiles(cli.home), clock: systemClock, log, git: { path: process.env.PATH } });
  const { task } = await store.createTask({ title: "x", board: BOARD, workspace }, { by: "tester" });
  const { token } = await store.claim(task.id, { by: "tester" });
  const { path } = await workspaces.prepare(task);
  bash(script, path);
  if (end === "blocked") await store.block(task.id, { reason: "x", kind: "needs_input" }, { token });
  else await store.complete(task.id, {}, { token });
  if (end === "archived") await store.archive(task.id, { by: "tester" });
  return { id: task.id, path };
}

const listed = (repo: string) => bash("git worktree list --porcelain", repo);

describe("kanban boards rm", () => {
  test("K30 removes worktrees in which nothing would be lost, and names by path what it keeps", async () => {
    await using cli = await createTestCli();
    const repo = await repositoryOf(cli);
    const clean = await worked(cli, "true");
    const pushed = await worked(cli, `${COMMIT}; git push -q origin HEAD`, { workspace: `worktree:${repo}`, end: "blocked" });
    const dirty = await worked(cli, CHANGE, { end: "blocked" });
    const unpushed = await worked(cli, COMMIT, { workspace: `worktree:${repo}` });
    const { kept, ...rest } = await cli.json<{ kept: Kept[] }>(REMOVE_BOARD);
    expect(rest).toEqual({ removed: BOARD, switchedBack: false });
    expect(kept).toEqual([
      { path: dirty.path, why: expect.stringContaining("changes that are not committed") },
      { path: unpushed.path, why: expect.stringContaining("commits that are on no remote") },
    ]);
    for (const { id, path } of [clean, pushed]) {
      expect(await isThere(path)).toBe(false);
      expect(listed(repo)).not.toContain(id);
      bash(`git rev-parse -q --verify holdfast/${id}`, repo);
    }
    expect(bash("cat file", dirty.path)).toBe("two\n");
    expect(bash("git show HEAD:file", unpushed.path)).toBe("two\n");
  });

  test("K30 says so in words, too, also of a repository that is not there", async () => {
    await using cli = await createTestCli();
    const repo = await repositoryOf(cli);
    const dirty = await worked(cli, CHANGE);
    bash("git clone -q remote other", cli.directory);
    const other = join(cli.directory, "other");
    for (let count = 0; count < 2; count += 1) await worked(cli, "true", { workspace: `worktree:${other}` });
    bash("mv other aside", cli.directory);
    await cli.run(["kanban", "--board", BOARD, "create", "never begun", "--workspace", "worktree:/nowhere"]);
    const { status, stderr } = await cli.run(REMOVE_BOARD);
    expect(status).toBe(0);
    expect(stderr).toContain(`${dirty.path} was kept: `);
    expect(stderr.match(/other was kept: .*cannot be opened/g)).toHaveLength(1);
    expect(stderr).not.toContain("nowhere");
    expect(listed(repo)).toContain(dirty.id);
  });

  test("K30 leaves every worktree alone when the board is not removed", async () => {
    await using cli = await createTestCli();
    await repositoryOf(cli);
    const clean = await worked(cli, "true");
    {
      await using store = await openStore(join(cli.home, "kanban/board.db"));
      const { task } = await store.createTask({ title: "x", board: BOARD }, { by: "tester" });
      await store.claim(task.id, { by: "tester" });
    }
    expect(await cli.run(REMOVE_BOARD)).toMatchObject({ status: 1, stderr: expect.stringContaining("is running") });
    expect(await isThere(clean.path)).toBe(true);
  });
});

describe("kanban archive --rm", () => {
  test("K30 removes a worktree in which nothing would be lost, and names by path one that it keeps", async () => {
    await using cli = await createTestCli();
    const repo = await repositoryOf(cli);
    const remove = (id: string, ...flags: string[]) => ["kanban", "--board", BOARD, "archive", id, "--rm", "--yes", ...flags];
    const clean = await worked(cli, "true", { end: "archived" });
    expect(await cli.json(remove(clean.id))).toEqual([{ removed: clean.id, kept: [] }]);
    expect(await isThere(clean.path)).toBe(false);
    expect(listed(repo)).not.toContain(clean.id);
    const dirty = await worked(cli, CHANGE, { end: "archived" });
    expect(await cli.json(remove(dirty.id))).toEqual([
      { removed: dirty.id, kept: [{ path: dirty.path, why: expect.stringContaining("changes that are not committed") }] },
    ]);
    const unpushed = await worked(cli, COMMIT, { workspace: `worktree:${repo}`, end: "archived" });
    expect((await cli.run(remove(unpushed.id))).stderr).toContain(`${unpushed.path} was kept: `);
    for (const { path } of [dirty, unpushed]) expect(bash("cat file", path)).toBe("two\n");
  });

  test("K30 names the workspace that a child may still need", async () => {
    await using cli = await createTestCli();
    const make = async (...args: string[]) => (await cli.run(["kanban", "create", ...args])).stdout.trim();
    const parent = await make("parent");
    const bare = await make("without one");
    const child = await make("child", "--parent", parent, "--parent", bare);
    await cli.run(["kanban", "archive", parent, bare]);
    const path = join(cli.home, "kanban/boards/default/workspaces", parent);
    await mkdir(path, { recursive: true });
    expect(await cli.json(["kanban", "archive", parent, bare, "--rm", "--yes"])).toEqual([
      { removed: parent, kept: [{ path, why: `${child} may still need it` }] },
      { removed: bare, kept: [] },
    ]);
  });
});
