import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";
import { openStore } from "../../board/store.ts";

interface Attached {
  id: number;
  path: string;
}

const make = async (cli: TestCli, ...args: string[]) => (await cli.run(["kanban", "create", ...args])).stdout.trim();
const place = (cli: TestCli, ...parts: string[]) => join(cli.home, "kanban/boards/default", ...parts);
const exists = (path: string) =>
  readdir(path, { recursive: true }).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === "ENOTDIR",
  );

describe("kanban attach-rm", () => {
  test("K29 K32 removes an attachment with its file", async () => {
    await using cli = await createTestCli();
    const task = await make(cli, "x");
    await writeFile(join(cli.directory, "a.txt"), "one");
    const first = await cli.json<Attached>(["kanban", "attach", task, "a.txt"]);
    const second = await cli.json<Attached>(["kanban", "attach", task, "a.txt"]);
    const { status, stderr } = await cli.run(["kanban", "attach-rm", String(first.id)]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: `note: a.txt is no longer attached to ${task}\n` });
    expect(await exists(first.path)).toBe(false);
    expect(await readFile(second.path, "utf8")).toBe("one");
    expect(await cli.json(["kanban", "attachments", task])).toMatchObject([{ id: second.id }]);
    expect(await cli.json(["kanban", "attach-rm", String(second.id)])).toMatchObject({ removed: { name: "a.txt" }, kept: [] });
    expect(await cli.run(["kanban", "attach-rm", String(second.id)])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("there is no attachment"),
    });
    expect(await cli.run(["kanban", "attach-rm", "a.txt"])).toMatchObject({ status: 2 });
  });

  test("K30 a file that is elsewhere stays, whatever the row says", async () => {
    await using cli = await createTestCli();
    const task = await make(cli, "x");
    const precious = join(cli.directory, "precious");
    await writeFile(precious, "whole");
    await using store = await openStore(join(cli.home, "kanban/board.db"));
    const row = { name: "p", path: precious, contentType: "text/plain", size: 5 };
    const { id } = await store.addAttachment(task, row, { by: "me" });
    const { stderr } = await cli.run(["kanban", "attach-rm", String(id)]);
    expect(stderr).toContain(`${precious} was kept: it is not among the files of ${task}`);
    expect(await readFile(precious, "utf8")).toBe("whole");
  });

  test("K29 a worker removes only what is attached to its own task", async () => {
    await using cli = await createTestCli();
    const [own, other] = [await make(cli, "own"), await make(cli, "other")];
    await writeFile(join(cli.directory, "a.txt"), "one");
    const ids = [];
    for (const task of [own, other]) ids.push(String((await cli.json<Attached>(["kanban", "attach", task, "a.txt"])).id));
    const { env } = await cli.json<{ env: Record<string, string> }>(["kanban", "claim", own]);
    const [mine = "", theirs = ""] = ids;
    expect(await cli.run(["kanban", "attach-rm", theirs], { env })).toMatchObject({ status: 1 });
    expect(await cli.run(["kanban", "attach-rm", mine], { env })).toMatchObject({ status: 0 });
    expect(await cli.json(["kanban", "attachments", other])).toHaveLength(1);
    await cli.run(["kanban", "reclaim", own]);
    const late = await cli.json<Attached>(["kanban", "attach", own, "a.txt"]);
    expect(await cli.run(["kanban", "attach-rm", String(late.id)], { env })).toMatchObject({ status: 3 });
  });
});

describe("kanban archive --rm", () => {
  test("K32 removes archived tasks with all their files, after a question", async () => {
    await using cli = await createTestCli();
    const task = await make(cli, "x");
    await writeFile(join(cli.directory, "a.txt"), "one");
    await cli.json(["kanban", "attach", task, "a.txt"]);
    const files = [place(cli, "workspaces", task), place(cli, "logs", `${task}.log`), place(cli, "logs", `${task}.log.1`)];
    await mkdir(files[0] ?? "", { recursive: true });
    await mkdir(place(cli, "logs"), { recursive: true });
    for (const path of files.slice(1)) await writeFile(path, "log");
    await writeFile(place(cli, "logs", `${task}0.log`), "of another");
    files.push(place(cli, "attachments", task));

    const rm = ["kanban", "archive", task, "--rm"];
    expect(await cli.run([...rm, "--yes"])).toMatchObject({ status: 1, stderr: expect.stringContaining("only tasks that are archived") });
    await cli.run(["kanban", "archive", task]);
    expect(await cli.run(rm)).toMatchObject({ status: 2, stderr: expect.stringContaining("has to be confirmed") });
    expect(await cli.run(rm, { tty: true, input: "n\n" })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("nothing was removed"),
    });
    for (const path of files) expect(await exists(path), path).toBe(true);
    expect(await cli.run(rm, { tty: true, input: "y\n" })).toMatchObject({ status: 0, stderr: expect.stringContaining(`${task} is gone`) });
    for (const path of files) expect(await exists(path), path).toBe(false);
    expect(await readdir(place(cli, "logs"))).toEqual([`${task}0.log`]);
    expect(await cli.run(["kanban", "show", task])).toMatchObject({ status: 1 });
    expect(await cli.run(["kanban", "archive", task, "--yes"])).toMatchObject({ status: 2 });
  });

  test("K30 follows no link out, and says what stays", async () => {
    await using cli = await createTestCli();
    const task = await make(cli, "x");
    await cli.run(["kanban", "archive", task]);
    const precious = join(cli.directory, "precious");
    await mkdir(precious);
    await writeFile(join(precious, "file"), "whole");
    await mkdir(place(cli, "workspaces"), { recursive: true });
    await symlink(precious, place(cli, "workspaces", task));
    await symlink(precious, place(cli, "attachments"));
    await mkdir(join(precious, task));
    const result = await cli.json<{ kept: { why: string }[] }[]>(["kanban", "archive", task, "--rm", "--yes"]);
    expect(result).toMatchObject([
      { removed: task, kept: [{ why: expect.stringContaining("is a link") }, { why: "a link leads out of the boards" }] },
    ]);
    expect((await readdir(precious)).toSorted()).toEqual(["file", task].toSorted());
  });
});

test("K10 K32 reopen takes up again what was finished, and its children wait again", async () => {
  await using cli = await createTestCli();
  const parent = await make(cli, "parent", "--assignee", "ada");
  const child = await make(cli, "child", "--parent", parent);
  await cli.run(["kanban", "complete", parent]);
  expect(await cli.json(["kanban", "reopen", parent, "--reason", "not quite"])).toMatchObject([{ status: "ready", completedAt: null }]);
  expect(await cli.json(["kanban", "show", child])).toMatchObject({ task: { status: "todo" } });
  expect((await cli.run(["kanban", "show", parent])).stdout).toMatch(/reopened {2}by default {2}done → ready {2}\{"reason":"not quite"\}/);
  expect(await cli.run(["kanban", "reopen", child])).toMatchObject({ status: 1, stderr: expect.stringContaining("reopen") });
});

describe("kanban create and edit of tasks that repeat", () => {
  test("K10 K32 --every and --cron leave the next one when done, until --no-repeat", async () => {
    await using cli = await createTestCli();
    const daily = await make(cli, "daily", "--every", "1d", "--deadline", "2030-01-02T03:04Z");
    await cli.run(["kanban", "complete", daily]);
    const { task } = await cli.json<{ task: { successor: string; series: string } }>(["kanban", "show", daily]);
    expect(task).toMatchObject({ repeat: "every 1d", series: daily });
    const first = (await cli.run(["kanban", "show", daily])).stdout;
    expect(first).toMatch(/^deadline: 2030-01-02T03:04:00.000Z, in /m);
    expect(first).toContain(`repeats: every 1d\nseries: it is the first\nnext: ${task.successor}\n`);
    const second = (await cli.run(["kanban", "show", task.successor])).stdout;
    expect(second).toMatch(new RegExp(`^scheduled: .*, in .*\\nrepeats: every 1d\\nseries: since ${daily}\\n`, "m"));
    expect(await cli.json(["kanban", "edit", task.successor, "--no-repeat"])).toMatchObject({ repeat: null });
    const zoned = ["--cron", "0 9 * * 1-5", "--time-zone", "Europe/Berlin"];
    expect(await cli.json(["kanban", "edit", task.successor, ...zoned])).toMatchObject({ repeat: "0 9 * * 1-5" });
    expect((await cli.run(["kanban", "show", task.successor])).stdout).toContain("repeats: 0 9 * * 1-5 (Europe/Berlin)\n");
    expect(await cli.json(["kanban", "edit", task.successor, "--clear", "time-zone"])).toMatchObject({ timeZone: null });
  });

  test.each([
    [["create", "x", "--every", "1d", "--cron", "0 9 * * *"], 2, "--every and --cron cannot be given together"],
    [["create", "x", "--every", "soon"], 2, "--every"],
    [["create", "x", "--cron", "0 9 * * * *"], 2, "--cron"],
    [["create", "x", "--every", "1d", "--time-zone", "UTC"], 2, "--time-zone is only for --cron"],
    [["create", "x", "--cron", "0 9 * * *", "--time-zone", "Moon"], 2, "--time-zone is not a time zone"],
    [["edit", "t_00000000", "--no-repeat", "--every", "1d"], 2, "--no-repeat and --every or --cron cannot be given together"],
  ])("K34 %j is refused", async (args, status, message) => {
    await using cli = await createTestCli();
    expect(await cli.run(["kanban", ...args])).toMatchObject({ status, stderr: expect.stringContaining(message) });
  });
});
