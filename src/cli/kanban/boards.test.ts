import { access, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";
import { openStore } from "../../board/store.ts";

interface Shown {
  slug: string;
  name: string;
  current: boolean;
}

const boards = (cli: TestCli, args: readonly string[], options: Parameters<TestCli["run"]>[1] = {}) =>
  cli.run(["kanban", "boards", ...args], options);
const current = async (cli: TestCli, before: readonly string[] = [], env: Record<string, string> = {}) =>
  (await cli.json<Shown>(["kanban", ...before, "boards", "show"], { env })).slug;

describe("K5 boards list", () => {
  test("shows default before anything was made, and marks the one that counts", async () => {
    await using cli = await createTestCli();
    expect(await boards(cli, ["list"])).toEqual({
      status: 0,
      stdout: "   BOARD    NAME     TASKS\n*  default  Default  none\n",
      stderr: "",
    });
    await boards(cli, ["create", "site", "--name", "The site", "--icon", "◆", "--switch"]);
    const { stdout } = await boards(cli, ["ls"]);
    expect(stdout).toBe("   BOARD    NAME        TASKS\n   default  Default     none\n*  site     ◆ The site  none\n");
  });

  test("leaves out what is archived, unless it is asked for", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["create", "old"]);
    await boards(cli, ["archive", "old"]);
    expect((await boards(cli, ["list"])).stdout).not.toContain("old");
    expect((await boards(cli, ["list", "--all"])).stdout).toContain("old      old      none (archived)");
  });

  test("shows a hostile name as text, never as a command to the terminal", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["create", "x", "--description", "\u001b[2J\u001b]0;evil\u0007", "--icon", "\u001b[31m"]);
    expect((await boards(cli, ["create", "y", "--name", "\u001b[2J"])).status).toBe(1);
    for (const args of [["list"], ["show", "x"], ["list", "--json"]]) {
      const { status, stdout } = await boards(cli, args);
      expect(status).toBe(0);
      expect(stdout).not.toContain("\u001b");
      expect(stdout).toContain("\\u001b");
    }
  });
});

describe("K5 the board that counts", () => {
  test("is that of --board, then of the variable, then the switched one, then default", async () => {
    await using cli = await createTestCli();
    for (const slug of ["one", "two", "three"]) await boards(cli, ["create", slug]);
    expect(await current(cli)).toBe("default");
    expect(await boards(cli, ["switch", "One"])).toMatchObject({ status: 0, stderr: "note: the board one counts from now on\n" });
    expect(await current(cli)).toBe("one");
    expect(await current(cli, [], { HOLDFAST_KANBAN_BOARD: "two" })).toBe("two");
    expect(await current(cli, [], { HOLDFAST_KANBAN_BOARD: " " })).toBe("one");
    expect(await current(cli, ["--board", "three"], { HOLDFAST_KANBAN_BOARD: "two" })).toBe("three");
    expect((await stat(join(cli.home, "kanban/current"))).mode & 0o777).toBe(0o600);
    const shadowed = await boards(cli, ["switch", "three"], { env: { HOLDFAST_KANBAN_BOARD: "two" } });
    expect(shadowed.stderr).toContain("HOLDFAST_KANBAN_BOARD is set and comes first");
  });

  test.each([["../x"], ["a/b"], [".."], ["-x"], ["a b"], ["ä"], ["x".repeat(65)]])(
    "is never another one because %j is no board",
    async (slug) => {
      await using cli = await createTestCli();
      const attempts = [
        await boards(cli, ["show"], { env: { HOLDFAST_KANBAN_BOARD: slug } }),
        await cli.run(["kanban", `--board=${slug}`, "boards", "show"]),
        await cli.run(["kanban", "diagnostics", `--board=${slug}`]),
        await boards(cli, ["create", "--", slug]),
        await boards(cli, ["switch", "--", slug]),
        await boards(cli, ["rm", "--confirm=x", "--", slug]),
      ];
      for (const { status, stderr } of attempts)
        expect([status, stderr]).toEqual([1, expect.stringContaining("is not a valid board name")]);
      await mkdir(join(cli.home, "kanban"), { recursive: true });
      await writeFile(join(cli.home, "kanban/current"), slug);
      expect((await boards(cli, ["show"])).stderr).toContain("is not a valid board name");
      expect(await boards(cli, ["switch", "default"])).toMatchObject({ status: 0 });
      expect(await current(cli)).toBe("default");
    },
  );

  test("that does not exist any more is an error with the way out, which works", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["list"]);
    await writeFile(join(cli.home, "kanban/current"), "gone\n");
    const { status, stderr } = await boards(cli, ["show"]);
    expect(status).toBe(1);
    expect(stderr).toContain("there is no board gone (chosen by `holdfast kanban boards switch`)");
    const [, words = ""] = /`holdfast (.*?)`/.exec(stderr.split("hint:")[1] ?? "") ?? [];
    expect(await cli.run(words.split(" "))).toMatchObject({ status: 0 });
    expect(await current(cli)).toBe("default");
    await writeFile(join(cli.home, "kanban/current"), "gone\n");
    expect(await cli.run(["kanban", "--board", "default", "boards", "switch", "default"])).toMatchObject({ status: 0 });
  });

  test("is default again when the switched one is archived or removed", async () => {
    await using cli = await createTestCli();
    for (const verb of [
      ["archive", "site"],
      ["rm", "site", "--confirm", "site"],
    ]) {
      await boards(cli, ["create", "site", "--switch"]);
      expect((await boards(cli, verb)).stderr).toContain("it was the switched board; from now on default counts");
      expect(await current(cli)).toBe("default");
      if (verb[0] === "archive") expect((await boards(cli, ["switch", "site"])).stderr).toContain("the board site is archived");
      if (verb[0] === "archive") await boards(cli, ["rm", "site", "--confirm", "site"]);
    }
  });

  test("is its own for a worker, which sees no other", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["create", "site"]);
    const env = { HOLDFAST_TASK: "t_00000000", HOLDFAST_RUN_TOKEN: "x", HOLDFAST_BOARD: "site" };
    expect(await cli.json<Shown[]>(["kanban", "boards", "list"], { env })).toMatchObject([{ slug: "site", current: true }]);
    expect(await current(cli, [], { ...env, HOLDFAST_KANBAN_BOARD: "default" })).toBe("site");
    for (const args of [["show", "default"], ["create", "more"], ["switch", "default"], ["rm", "site", "--confirm", "site"], ["export"]]) {
      expect(await boards(cli, args, { env })).toMatchObject({ status: 1, stderr: expect.stringContaining("out of reach") });
    }
  });
});

describe("K5 changing a board", () => {
  test("rename changes what is shown, edit the rest, and the slug stays", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["create", "site"]);
    expect((await boards(cli, ["rename", "site", "The new site"])).stderr).toBe("note: the board site is called The new site\n");
    await boards(cli, ["edit", "site", "--description", "All", "--default-workdir", "/srv/site"]);
    expect(await cli.json(["kanban", "boards", "show", "site"])).toMatchObject({
      slug: "site",
      name: "The new site",
      description: "All",
      defaultWorkdir: "/srv/site",
      dispatcher: null,
    });
    await boards(cli, ["edit", "site", "--default-workdir", ""]);
    expect(await cli.json(["kanban", "boards", "show", "site"])).toMatchObject({ defaultWorkdir: null });
    expect(await boards(cli, ["edit", "site"])).toMatchObject({ status: 2 });
    expect(await boards(cli, ["edit", "site", "--default-workdir", "srv"])).toMatchObject({ status: 1 });
    expect((await boards(cli, ["rename", "sit", "x"])).stderr).toContain('did you mean "site"?');
  });
});

describe("K5 boards rm", () => {
  test("asks for the slug, or wants it repeated", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["create", "site"]);
    expect(await boards(cli, ["rm", "site"])).toMatchObject({ status: 2, stderr: expect.stringContaining("add --confirm site") });
    expect(await boards(cli, ["rm", "site", "--confirm", "sit"])).toMatchObject({ status: 1 });
    expect(await boards(cli, ["rm", "site"], { tty: true, input: "no\n" })).toMatchObject({ status: 1 });
    expect(await cli.json<Shown[]>(["kanban", "boards", "list"])).toHaveLength(2);
    expect(await boards(cli, ["rm", "site"], { tty: true, input: "site\n" })).toMatchObject({ status: 0 });
    expect(await cli.json<Shown[]>(["kanban", "boards", "list"])).toHaveLength(1);
    expect(await boards(cli, ["rm", "default", "--confirm", "default"])).toMatchObject({ status: 1 });
  });

  test("removes its files, but nothing outside, whatever links say", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["create", "site"]);
    const files = join(cli.home, "kanban/boards/site");
    const outside = join(cli.directory, "outside");
    await mkdir(join(outside, "deep"), { recursive: true });
    await writeFile(join(outside, "deep/kept"), "x");
    for (const name of ["workspaces/t_00000001", "attachments/t_00000001", "logs"]) await mkdir(join(files, name), { recursive: true });
    await writeFile(join(files, "logs/t_00000001.log"), "x");
    for (const [index, name] of ["workspaces/t_00000002", "workspaces/t_00000001/link", "attachments/link", "linked"].entries())
      await symlink(index === 3 ? join(outside, "deep/kept") : outside, join(files, name));
    expect(await cli.json(["kanban", "boards", "rm", "site", "--confirm", "site"])).toEqual({
      removed: "site",
      kept: [],
      switchedBack: false,
    });
    expect(await readdir(join(cli.home, "kanban/boards"))).toEqual([]);
    expect(await readFile(join(outside, "deep/kept"), "utf8")).toBe("x");
  });

  test("K30 leaves a workspace in which an unfinished task of another board works, and names it", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["create", "site"]);
    const create = async (...args: string[]) => (await cli.run(["kanban", "create", "x", ...args])).stdout.trim();
    const workspaces = join(cli.home, "kanban/boards/site/workspaces");
    const [used, unused] = [join(workspaces, await create("--board", "site")), join(workspaces, await create("--board", "site"))];
    for (const path of [used, unused]) await mkdir(path, { recursive: true });
    const user = await create("--workspace", `dir:${used}`);
    const { kept } = await cli.json<{ kept: unknown[] }>(["kanban", "boards", "rm", "site", "--confirm", "site"]);
    expect(kept).toEqual([{ path: used, why: `${user} works in it` }]);
    expect(await readdir(workspaces)).toEqual([basename(used)]);
  });

  test("touches nothing when the directory of the board is a link", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["create", "site"]);
    const outside = join(cli.directory, "outside");
    await mkdir(join(outside, "logs"), { recursive: true });
    await mkdir(join(cli.home, "kanban/boards"), { recursive: true });
    await symlink(outside, join(cli.home, "kanban/boards/site"));
    const { kept } = await cli.json<{ kept: { why: string }[] }>(["kanban", "boards", "rm", "site", "--confirm", "site"]);
    expect(kept).toMatchObject([{ why: "a link leads out of the boards" }]);
    expect(await readdir(outside)).toEqual(["logs"]);
  });

  test("is refused while a task of it runs", async () => {
    await using cli = await createTestCli();
    await boards(cli, ["create", "site"]);
    {
      await using store = await openStore(join(cli.home, "kanban/board.db"));
      const { task } = await store.createTask({ title: "x", board: "site", assignee: "default" }, { by: "tester" });
      await store.claim(task.id, { by: "tester", ttlMs: 60_000 });
    }
    expect(await boards(cli, ["rm", "site", "--confirm", "site"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is running"),
    });
  });

  test("K30 leaves the files of a board of the same name in another database of this home alone", async () => {
    await using cli = await createTestCli();
    const fill = async (env: Record<string, string>) => {
      await cli.run(["kanban", "boards", "create", "site"], { env });
      const task = (await cli.run(["kanban", "create", "x", "--board", "site"], { env })).stdout.trim();
      await writeFile(join(cli.directory, "note.txt"), "kept");
      await cli.run(["kanban", "attach", task, join(cli.directory, "note.txt"), "--board", "site"], { env });
      return join(cli.home, "kanban/boards/site/attachments", task);
    };
    const env = { HOLDFAST_KANBAN_DATABASE: join(cli.directory, "other.db") };
    const [theirs, ours] = [await fill({}), await fill(env)];
    expect(await cli.run(["kanban", "boards", "rm", "site", "--confirm", "site"], { env })).toMatchObject({ status: 0 });
    expect(await readFile(join(theirs, "note.txt"), "utf8")).toBe("kept");
    await expect(access(ours)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
