import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, lutimes, mkdir, open, readdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";
import { testIf } from "../../../test/helpers/requirements.ts";
import { createKanbanApp } from "../../../test/helpers/test-app.ts";
import { boardCollect } from "../../app/operations/board-collect.ts";
import { findProcess } from "../../base/process-tree.ts";
import { openStore, type Store } from "../../board/store.ts";
import { currentPlace } from "../../dispatcher/place.ts";

interface Collected {
  events: number | null;
  removed: { path: string; why: string }[];
  kept: { path: string; why: string }[];
}

const databaseOf = (cli: TestCli) => join(cli.home, "kanban/board.db");
const storeOf = (cli: TestCli): Promise<Store> => openStore(databaseOf(cli));

describe("K32 init", () => {
  test("makes the database, says where it is, who can work, and what to do next", async () => {
    await using cli = await createTestCli();
    const { status, stdout } = await cli.run(["kanban", "init"]);
    expect(status).toBe(0);
    expect(stdout).toContain(`database: ${databaseOf(cli)}\nboard: default\nprofile default: has no worker.command`);
    expect(stdout).toContain("next: `holdfast profile create NAME`");
    expect((await lstat(databaseOf(cli))).isFile()).toBe(true);
    expect((await lstat(join(cli.home, "kanban"))).mode & 0o777).toBe(0o700);
    await cli.run(["profile", "create", "ada"]);
    await cli.run(["config", "set", "worker.command", '["true"]', "-p", "ada"]);
    await cli.run(["profile", "create", "bob"]);
    await writeFile(join(cli.home, "profiles/bob/config.yaml"), "worker: [");
    const again = await cli.json<{ profiles: object[]; next: string[] }>(["kanban", "init"]);
    expect(again.profiles).toMatchObject([
      { name: "default", spawnable: false, problem: null },
      { name: "ada", spawnable: true, problem: null },
      { name: "bob", spawnable: false, problem: expect.stringContaining("config.yaml") },
    ]);
    expect(again.next[0]).toContain("--assignee ada");
  });
});

describe("K25 backup", () => {
  test("is a whole copy, and replaces nothing", async () => {
    await using cli = await createTestCli();
    await cli.run(["kanban", "boards", "create", "site"]);
    const file = join(cli.directory, "it's a copy.db");
    expect(await cli.run(["kanban", "backup", file])).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(`all boards are in ${file}`),
    });
    await using copy = await openStore(file);
    expect((await copy.listBoards()).map(({ slug }) => slug)).toEqual(["default", "site"]);
    expect(await cli.run(["kanban", "backup", file])).toMatchObject({ status: 1, stderr: expect.stringContaining("already there") });
    expect(await cli.run(["kanban", "backup", join(cli.directory, "no/such/x.db")])).toMatchObject({
      status: 1,
      stderr: `error: there is no directory ${join(cli.directory, "no/such")} to write the copy to\nhint: make it first\n`,
    });
  });
});

describe("K25 repair", () => {
  const spoil = (cli: TestCli) => {
    const database = new DatabaseSync(databaseOf(cli));
    database.exec("update tasks set status = 'running'");
    database.close();
  };

  test("has nothing to do on a sound board, and takes no copy", async () => {
    await using cli = await createTestCli();
    expect(await cli.run(["kanban", "repair"])).toEqual({ status: 0, stdout: "", stderr: "note: nothing is wrong\n" });
    expect((await readdir(join(cli.home, "kanban"))).some((name) => name.includes("backup"))).toBe(false);
  });

  test("puts right what does not fit together, after taking a copy of how it was", async () => {
    await using cli = await createTestCli();
    await cli.run(["kanban", "init"]);
    let id = "";
    {
      await using store = await storeOf(cli);
      id = (await store.createTask({ title: "x" }, { by: "tester" })).task.id;
    }
    spoil(cli);
    expect(await cli.json(["kanban", "diagnostics", "--severity", "error"])).toMatchObject([
      { rule: "fault", text: expect.stringContaining(id) },
    ]);
    const { status, stdout, stderr } = await cli.run(["kanban", "repair"]);
    expect([status, stdout]).toEqual([0, `put right: ${id} is running without an open run\n`]);
    const backup = /a copy of how it was is in (.*)\n/.exec(stderr)?.[1] ?? "";
    expect(backup).toMatch(/board\.db\.backup-\d{4}-\d\d-\d\dT/);
    expect((await lstat(backup)).mode & 0o777).toBe(0o600);
    const copy = new DatabaseSync(backup);
    expect(copy.prepare("select status from tasks").all()).toEqual([{ status: "running" }]);
    copy.close();
    await using store = await storeOf(cli);
    expect(await store.getTask(id)).toMatchObject({ status: "ready" });
  });

  test("keeps the ten newest copies, and no file of another name goes", async () => {
    await using cli = await createTestCli();
    await cli.run(["kanban", "init"]);
    const directory = join(cli.home, "kanban");
    {
      await using store = await storeOf(cli);
      await store.createTask({ title: "x" }, { by: "tester" });
    }
    for (let year = 2000; year < 2012; year++) await writeFile(join(directory, `board.db.backup-${year}-01-01T00-00-00.000Z`), "");
    await writeFile(join(directory, "board.db.mine"), "");
    spoil(cli);
    await cli.json(["kanban", "repair"]);
    const names = (await readdir(directory)).filter((name) => name.includes("backup-")).sort();
    expect(names).toHaveLength(10);
    expect(names[0]).toContain("2003");
    expect(await readdir(directory)).toContain("board.db.mine");
  });

  test("copies a damaged file as it is, says that it is damaged, and changes nothing", async () => {
    await using cli = await createTestCli();
    await cli.run(["kanban", "init"]);
    await writeFile(databaseOf(cli), "this is no database at all, but long enough to be taken for one ".repeat(100));
    await chmod(databaseOf(cli), 0o644);
    const before = await readFile(databaseOf(cli));
    const { status, stdout, stderr } = await cli.run(["kanban", "repair"]);
    expect([status, stdout]).toEqual([1, expect.stringMatching(/^still wrong: the board in .* is damaged/)]);
    const backup = /a copy of how it was is in (.*)\n/.exec(stderr)?.[1] ?? "";
    expect(await readFile(backup)).toEqual(before);
    expect((await lstat(backup)).mode & 0o777).toBe(0o600);
    expect(await readFile(databaseOf(cli))).toEqual(before);
    expect(await cli.json(["kanban", "diag"])).toMatchObject([
      { rule: "damaged", severity: "critical", todo: expect.not.stringContaining("repair") },
    ]);
    expect((await cli.run(["kanban", "list"])).stderr).toMatch(/hint: Restore a backup, .*docs\/guides\/board\.md/);
    expect((await readdir(dirname(databaseOf(cli)))).filter((name) => /backup.*-wal$/.test(name))).toEqual([]);
    expect(JSON.parse((await cli.run(["kanban", "repair", "--json"])).stdout)).toMatchObject({ sound: false });
  });

  test("says what is still wrong with pages that nothing mends", async () => {
    await using cli = await createTestCli();
    await cli.run(["kanban", "init"]);
    {
      await using store = await storeOf(cli);
      for (let index = 0; index < 200; index++) await store.createTask({ title: `x ${index}`, body: "y".repeat(2000) }, { by: "tester" });
    }
    const file = await open(databaseOf(cli), "r+");
    const { size } = await file.stat();
    await file.write(Buffer.alloc(20 * 4096, 0xa5), 0, 20 * 4096, Math.floor(size / 2 / 4096) * 4096);
    await file.close();
    for (const { rule, todo } of await cli.json<{ rule: string; todo: string }[]>(["kanban", "diag", "--severity", "error"])) {
      expect(rule).toBe("damaged");
      expect(todo).not.toContain("repair");
    }
    const { status, stdout } = await cli.run(["kanban", "repair"]);
    expect(status).toBe(1);
    expect(stdout).toContain("still wrong: ");
  });
});

describe("K32 diagnostics", () => {
  test("tell what is wrong with the worst first, and with a task only what is about it", async () => {
    await using cli = await createTestCli();
    await cli.run(["profile", "create", "ada"]);
    await cli.run(["config", "set", "worker.command", '["true"]', "-p", "ada"]);
    await cli.run(["kanban", "init"]);
    let [one, two] = ["", ""];
    {
      await using store = await storeOf(cli);
      one = (await store.createTask({ title: "x", assignee: "ada" }, { by: "tester" })).task.id;
      two = (await store.createTask({ title: "y" }, { by: "tester" })).task.id;
    }
    const rules = async (...args: string[]) =>
      (await cli.json<{ rule: string }[]>(["kanban", "diagnostics", ...args])).map(({ rule }) => rule);
    expect(await rules()).toEqual(["no-dispatcher", "unassigned"]);
    expect(await rules("--severity", "error")).toEqual(["no-dispatcher"]);
    expect(await rules("--task", two)).toEqual(["unassigned"]);
    expect(await rules("--task", one)).toEqual([]);
    const { stdout } = await cli.run(["kanban", "diag"]);
    expect(stdout).toContain(
      "error: 1 task waits on the board default, and no dispatcher is alive\n  do: `holdfast kanban dispatch --watch` is one\n",
    );
    expect(await cli.run(["kanban", "diag", "--task", "t_ffffffff"])).toMatchObject({ status: 1 });
    expect(await cli.run(["kanban", "diag", "--severity", "eror"])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('"error"'),
    });
    await using store = await storeOf(cli);
    await store.lead("default", "me", { ttlMs: 600_000 });
    expect(await rules()).toEqual(["unassigned"]);
    await store.block(one, { reason: "\u001b[2Jwhy" }, { by: "tester" });
    expect((await cli.run(["kanban", "diag"])).stdout).not.toContain("\u001b");
  });
});

describe("K32 gc", () => {
  const OLD = new Date("2020-01-01");

  async function fill(cli: TestCli) {
    await cli.run(["kanban", "init"]);
    const files = join(cli.home, "kanban/boards/default");
    await using store = await storeOf(cli);
    const make = async (title: string, parents: string[] = []) => (await store.createTask({ title, parents }, { by: "tester" })).task.id;
    const done = await make("done");
    const needed = await make("needed");
    const open = await make("open", [needed]);
    for (const id of [done, needed]) await store.complete(id, {}, { by: "tester" });
    const gone = "t_00000000";
    for (const id of [done, needed, open, gone]) {
      for (const folder of ["workspaces", "attachments"]) {
        await mkdir(join(files, folder, id), { recursive: true });
        await writeFile(join(files, folder, id, "file"), "x");
        await utimes(join(files, folder, id), OLD, OLD);
      }
      await mkdir(join(files, "logs"), { recursive: true });
      for (const name of [`${id}.log`, `${id}.log.1`]) {
        await writeFile(join(files, "logs", name), "x");
        await utimes(join(files, "logs", name), OLD, OLD);
      }
    }
    await writeFile(join(files, "logs", `${done}.log`), "new");
    await mkdir(join(files, "workspaces/mine"));
    return { files, done, needed, open, gone };
  }

  test("removes what finished and removed tasks left, and nothing that somebody needs", async () => {
    await using cli = await createTestCli();
    const { files, done, needed, open, gone } = await fill(cli);
    const expected = [
      join(files, "attachments", gone),
      join(files, "logs", `${done}.log.1`),
      ...[`${needed}.log`, `${needed}.log.1`, `${gone}.log`, `${gone}.log.1`].map((name) => join(files, "logs", name)),
      ...[done, gone].map((id) => join(files, "workspaces", id)),
    ].sort();
    const dry = await cli.json<Collected>(["kanban", "gc", "--dry-run"]);
    expect(dry.removed.map(({ path }) => path).sort()).toEqual(expected);
    expect(await readdir(join(files, "workspaces"))).toHaveLength(5);
    const { removed, kept } = await cli.json<Collected>(["kanban", "gc"]);
    expect([removed.map(({ path }) => path).sort(), kept]).toEqual([expected, []]);
    expect((await readdir(join(files, "workspaces"))).sort()).toEqual(["mine", needed, open].sort());
    expect((await readdir(join(files, "attachments"))).sort()).toEqual([done, needed, open].sort());
    expect((await readdir(join(files, "logs"))).sort()).toEqual([`${done}.log`, `${open}.log`, `${open}.log.1`].sort());
    expect((await cli.run(["kanban", "gc"])).stderr).toBe("note: there is nothing to remove\n");
  });

  test("removes events of finished tasks that are old enough", async () => {
    await using cli = await createTestCli();
    await fill(cli);
    expect(await cli.json<Collected>(["kanban", "gc"])).toMatchObject({ events: 0 });
    expect((await cli.json<Collected>(["kanban", "gc", "--event-retention-days", "0"])).events).toBeGreaterThan(0);
    expect(await cli.run(["kanban", "gc", "--event-retention-days", "-1"])).toMatchObject({ status: 2 });
  });

  test("follows no link: neither in place of a workspace nor of the directory of all", async () => {
    await using cli = await createTestCli();
    const { files, done } = await fill(cli);
    const outside = join(cli.directory, "outside");
    await mkdir(join(outside, done), { recursive: true });
    await writeFile(join(outside, done, "kept"), "x");
    await cli.run(["kanban", "boards", "create", "linked"]);
    await mkdir(join(cli.home, "kanban/boards/linked"));
    await symlink(outside, join(cli.home, "kanban/boards/linked/workspaces"));
    await utimes(join(outside, done), OLD, OLD);
    const linked = await cli.run(["kanban", "gc", "--board", "linked"]);
    expect(linked).toMatchObject({ status: 1, stderr: expect.stringMatching(/workspaces was kept: .* is a link/) });
    await symlink(join(outside, done), join(files, "workspaces/t_00000009"));
    await lutimes(join(files, "workspaces/t_00000009"), OLD, OLD);
    const { status, stderr } = await cli.run(["kanban", "gc"]);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/t_00000009 was kept: .* is a link/) });
    expect(await readFile(join(outside, done, "kept"), "utf8")).toBe("x");
  });

  test("K30 runs no git in what a worker has left, and neither does boards rm", async () => {
    await using cli = await createTestCli();
    await cli.run(["kanban", "boards", "create", "site"]);
    const trap = join(cli.directory, "trap");
    const ran = join(cli.directory, "ran");
    execFileSync("git", ["init", "--quiet", trap]);
    execFileSync("git", ["-C", trap, "config", "core.fsmonitor", `touch ${ran}; false`]);
    await using store = await storeOf(cli);
    for (const board of ["default", "site"]) {
      const { task } = await store.createTask({ title: "x", board }, { by: "tester" });
      await store.complete(task.id, {}, { by: "tester" });
      const place = join(cli.home, "kanban/boards", board, "workspaces", task.id);
      await mkdir(place, { recursive: true });
      await writeFile(join(place, ".git"), `gitdir: ${trap}/.git\n`);
      const args = board === "site" ? ["boards", "rm", "site", "--confirm", "site"] : ["gc"];
      expect(await cli.run(["kanban", ...args])).toMatchObject({ status: 0 });
      await expect(lstat(place)).rejects.toMatchObject({ code: "ENOENT" });
    }
    await expect(lstat(ran)).rejects.toMatchObject({ code: "ENOENT" });
    // The trap works.
    execFileSync("git", ["-C", trap, "status"]);
    await lstat(ran);
  });

  test("K30 keeps the workspace of a finished task whose worker is still there", async () => {
    await using board = await createKanbanApp();
    const { store, files } = board.kanban;
    const { task } = await store.createTask({ title: "x", assignee: "writer" }, { by: "tester" });
    const { claim } = await board.work(task.id);
    const place = files.workspace("default", task.id);
    await mkdir(place, { recursive: true });
    const child = spawn("sleep", ["1000"]);
    try {
      const { install } = await board.app.owner("default");
      const supervisor = { pid: child.pid, startedAt: findProcess(child.pid ?? 0)?.startedAt };
      await store.recordWorker(task.id, claim.token, {
        place: currentPlace(install),
        supervisor,
        mark: "m",
        sandbox: "none",
        workspace: place,
      });
      await store.complete(task.id, {}, { token: claim.token });
      const gc = () => boardCollect.run(board.app, { eventDays: 30, logDays: 30, dryRun: false });
      expect(await gc()).toMatchObject({ removed: [] });
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      expect(await gc()).toMatchObject({ removed: [{ path: place }] });
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("K30 looks at each task again right before its files go", async () => {
    await using board = await createKanbanApp();
    const { store, files } = board.kanban;
    const make = async () => (await store.createTask({ title: "x" }, { by: "tester" })).task.id;
    const ids = [await make(), await make()].sort() as [string, string];
    await mkdir(files.logs("default"), { recursive: true });
    for (const id of ids) {
      await store.complete(id, {}, { by: "tester" });
      await writeFile(files.log("default", id), "x");
      await utimes(files.log("default", id), OLD, OLD);
    }
    const { getTask } = store;
    Object.assign(store, {
      async getTask(id: string) {
        // By now the first one has gone, and the other one is taken up again.
        const first = await lstat(files.log("default", ids[0])).catch(() => null);
        if (id === ids[1] && first === null) await store.reopen(id, { by: "tester" });
        return await getTask(id);
      },
    });
    const { removed } = await boardCollect.run(board.app, { eventDays: 30, logDays: 30, dryRun: false });
    expect(removed.map(({ path }) => path)).toEqual([files.log("default", ids[0])]);
  });

  testIf("mount", "K30 deletes nothing through a mount, and neither does boards rm", async () => {
    await using cli = await createTestCli();
    await cli.run(["kanban", "boards", "create", "site"]);
    const outside = join(cli.directory, "outside");
    await mkdir(outside);
    await writeFile(join(outside, "kept"), "x");
    const points = [
      join(cli.home, "kanban/boards/default/attachments/t_00000000/deep"),
      join(cli.home, "kanban/boards/default/workspaces/t_00000000/deep"),
      join(cli.home, "kanban/boards/site/attachments/t_00000000/deep"),
      join(cli.home, "kanban/boards/site/workspaces/t_00000000/deep"),
    ];
    try {
      for (const point of points) {
        await mkdir(point, { recursive: true });
        execFileSync("mount", ["--bind", outside, point]);
        await utimes(join(point, ".."), OLD, OLD);
      }
      for (const args of [["gc"], ["boards", "rm", "site", "--confirm", "site"]]) {
        const { stderr } = await cli.run(["kanban", ...args]);
        expect(new Set(stderr.match(/something is mounted at .*/g)).size).toBe(2);
      }
      expect(await readFile(join(outside, "kept"), "utf8")).toBe("x");
    } finally {
      for (const point of points) spawnSync("umount", [point]);
    }
    expect(await readFile(join(outside, "kept"), "utf8")).toBe("x");
  });

  test("K30 takes nothing for a leftover that may belong to another database, or is new", async () => {
    await using cli = await createTestCli();
    const { files, gone } = await fill(cli);
    const other = await cli.json<Collected>(["kanban", "gc", "-c", `kanban.database=${join(cli.directory, "other.db")}`]);
    expect(other.removed).toEqual([]);
    // Set for good: the database of the home is still there, and may be gone back to.
    await cli.run(["config", "set", "kanban.database", join(cli.directory, "other.db")]);
    expect((await cli.json<Collected>(["kanban", "gc"])).removed).toEqual([]);
    await cli.run(["config", "unset", "kanban.database"]);
    await utimes(join(files, "attachments", gone), new Date(), new Date());
    const { removed } = await cli.json<Collected>(["kanban", "gc", "--dry-run"]);
    expect(removed.map(({ path }) => path)).not.toContain(join(files, "attachments", gone));
  });

  test.each([["gc"], ["repair"], ["backup", "x.db"], ["diagnostics"]])("K29 %s is not for workers", async (...args) => {
    await using cli = await createTestCli();
    const env = { HOLDFAST_TASK: "t_00000000", HOLDFAST_RUN_TOKEN: "x" };
    expect(await cli.run(["kanban", ...args], { env })).toMatchObject({ status: 1, stderr: expect.stringContaining("out of reach") });
  });
});
