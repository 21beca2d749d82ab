import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";

interface Made {
  task: { id: string; status: string; [field: string]: unknown };
  created: boolean;
  warnings: { kind: string }[];
}

const make = async (cli: TestCli, ...args: string[]) => (await cli.json<Made>(["kanban", "create", ...args])).task;

describe("kanban create", () => {
  test("K32 K34 prints the id alone, and warns with what to do", async () => {
    await using cli = await createTestCli();
    const { status, stdout, stderr } = await cli.run(["kanban", "create", "Write", "--assignee", "writer"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^t_[0-9a-f]{8}\n$/);
    expect(stderr).toBe(
      "warning: nothing picks it up yet: there is no profile writer (holdfast profile create writer)\n" +
        "warning: nothing picks it up yet: no dispatcher is alive on the board default (holdfast kanban dispatch --watch)\n",
    );
  });

  test("K32 takes everything that a task can say", async () => {
    await using cli = await createTestCli();
    const parent = await make(cli, "first");
    await writeFile(join(cli.directory, "body.md"), "line one\nline two\n");
    const flags = ["--body-file", "body.md", "--assignee", "Writer", "--parent", parent.id, "--priority", "-3", "--tenant", "acme"];
    const more = [
      "--workspace",
      "dir:/tmp",
      "--branch",
      "b",
      "--max-runtime",
      "1h30m",
      "--max-retries",
      "4",
      "--skill",
      "git",
      "--skill",
      "sql",
    ];
    const task = await make(cli, "second", ...flags, ...more, "--model", "m1", "--deadline", "2030-01-02T03:04Z", "--idempotency-key", "k");
    expect(task).toMatchObject({
      ...{
        status: "todo",
        body: "line one\nline two\n",
        assignee: "writer",
        priority: -3,
        tenant: "acme",
        workspace: "dir:/tmp",
        branch: "b",
      },
      ...{ maxRuntimeMs: 5_400_000, maxRetries: 4, skills: ["git", "sql"], model: "m1", deadline: Date.UTC(2030, 0, 2, 3, 4) },
    });
    const again = await cli.run(["kanban", "create", "other", "--idempotency-key", "k"]);
    expect(again).toMatchObject({ status: 0, stdout: `${task.id}\n`, stderr: expect.stringContaining("was there already") });
    const piped = await cli.json<Made>(["kanban", "create", "piped", "--body-file", "-"], { input: "from a pipe" });
    expect(piped.task.body).toBe("from a pipe");
  });

  test("K10 K32 begins in triage, blocked, or later", async () => {
    await using cli = await createTestCli();
    expect(await make(cli, "a", "--triage")).toMatchObject({ status: "triage" });
    expect(await make(cli, "b", "--blocked", "no money")).toMatchObject({
      status: "blocked",
      blocked: { reason: "no money", by: "default" },
    });
    expect(await make(cli, "c", "--at", "2030-01-01T00:00Z")).toMatchObject({ status: "scheduled", scheduledFor: Date.UTC(2030, 0, 1) });
    expect(await make(cli, "d", "--in", "2h")).toMatchObject({ status: "scheduled" });
  });

  test.each([
    [["x", "--at", "soon"], "--at is not a time"],
    [["x", "--at", "2030-01-01", "--in", "2h"], "--at and --in cannot be given together"],
    [["x", "--triage", "--blocked", "y"], "--triage and --blocked cannot be given together"],
    [["x", "--body", "a", "--body-file", "b"], "--body and --body-file cannot be given together"],
    [["x", "--priority", "high"], "--priority needs a whole number"],
    [["x", "--in", "tomorrow"], '--in is not a length of time: "tomorrow"'],
    [["x", "--in", "0s"], '--in must be longer than 0: "0s"'],
    [["x", "--in", "9999999w"], "--in is longer than a hundred years"],
    [["x", "--max-runtime", "long"], "--max-runtime is not a length of time"],
    [["x", "--deadline", "soon"], "--deadline is not a time"],
    [["x", "--every", "5"], "--every cannot be"],
    [["x", "--cron", "soon"], "--cron cannot be"],
    [["x", "--cron", "0 9 * * *", "--time-zone", "Mars/Phobos"], '--time-zone is not a time zone: "Mars/Phobos"'],
    [[], "missing required argument"],
  ])("K34 %j is not understood: status 2", async (args, message) => {
    await using cli = await createTestCli();
    expect(await cli.run(["kanban", "create", ...args])).toMatchObject({ status: 2, stderr: expect.stringContaining(message) });
  });

  test.each([
    ...["show", "why", "runs", "log", "context", "tail", "complete", "heartbeat", "attachments"].map((verb) => [verb]),
    ["unblock"],
    ["decompose"],
    ["specify"],
    ["decompose", "t_1a2b3c4d", "--all"],
  ])("K34 a missing id is a mistake on the command line: status 2 (%s %s %s)", async (...args) => {
    await using cli = await createTestCli();
    const words = args.filter((word) => word !== undefined);
    expect(await cli.run(["kanban", ...words])).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringMatching(/^error: .*\nhint: ./),
    });
    const { stderr } = await cli.run(["kanban", ...words, "--json"]);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "usage" } });
  });

  test("K34 edit, schedule and claim refuse the same values with status 2, and what the board refuses stays 1", async () => {
    await using cli = await createTestCli();
    const { id } = await make(cli, "x");
    for (const args of [
      ["edit", id, "--time-zone", "Mars/Phobos"],
      ["edit", id, "--max-runtime", "0"],
      ["schedule", id, "--in", "tomorrow"],
      ["claim", id, "--ttl", "soon"],
    ])
      expect([args, (await cli.run(["kanban", ...args])).status]).toEqual([args, 2]);
    expect(await cli.run(["kanban", "unblock", id])).toMatchObject({ status: 1 });
  });

  test("K10 K32 says how to write what it does not understand, and warns of a time that has passed", async () => {
    await using cli = await createTestCli();
    const hintOf = async (...args: string[]) => /^hint: (.*)$/m.exec((await cli.run(["kanban", "create", "x", ...args])).stderr)?.[1] ?? "";
    expect(await hintOf("--every", "soon")).toMatch(/^write a whole number and a unit.*90m/);
    expect(await hintOf("--cron", "soon")).toMatch(/^write five fields/);
    expect(await hintOf("--cron", "0 99 * * *")).toMatch(/^write five fields/);
    for (const branch of ["two words", "a..b", "-x", "a//b", "x.lock", "a~1", "/a", "a.", ".a", "@", "a@{b"])
      expect([branch, await hintOf(`--branch=${branch}`)]).toEqual([branch, expect.stringMatching(/^no spaces/)]);
    expect(await make(cli, "x", "--branch", "fix/log-in.2", "--every", "90m")).toMatchObject({
      branch: "fix/log-in.2",
      repeat: "every 90m",
    });
    const past = await cli.run(["kanban", "create", "x", "--at", "2020-01-01T00:00Z"]);
    expect(past).toMatchObject({ status: 0, stderr: expect.stringContaining("warning: --at is in the past") });
    const late = await cli.run(["kanban", "create", "x", "--deadline", "2020-01-01T00:00Z"]);
    expect(late).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/^warning: --deadline is in the past, so t_\w+ is blocked as soon/),
    });
  });

  test("K10 K32 --no-repeat of a task whose next one is there already says where the series goes on", async () => {
    await using cli = await createTestCli();
    const { id } = await make(cli, "x", "--every", "1d");
    await cli.run(["kanban", "complete", id]);
    const { task } = await cli.json<{ task: { successor: string } }>(["kanban", "show", id]);
    const { status, stderr } = await cli.run(["kanban", "edit", id, "--no-repeat"]);
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringContaining(
        `warning: the series goes on: its next one is there (holdfast kanban edit ${task.successor} --no-repeat)`,
      ),
    });
    expect((await cli.run(["kanban", "edit", task.successor, "--no-repeat"])).stderr).toBe(`note: ${task.successor} is changed\n`);
  });

  test("K34 what the board refuses is status 1, with --json as JSON", async () => {
    await using cli = await createTestCli();
    const { status, stderr } = await cli.run(["kanban", "create", "x", "--parent", "t_00000000", "--json"]);
    expect(status).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "task-not-found" } });
    expect((await cli.run(["kanban", "show", "t_00000000"])).stderr).toContain("`holdfast kanban list --archived`");
    expect((await cli.run(["kanban", "list", "--board", "nosuch"])).stderr).toContain("`holdfast kanban boards list`");
    expect(await cli.run(["kanban", "create", "two\nlines"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("title must be one line"),
    });
  });
});

describe("kanban list and show", () => {
  test("K12 K32 show the board, and why each task waits", async () => {
    await using cli = await createTestCli();
    const first = await make(cli, "First", "--assignee", "writer");
    const second = await make(cli, "Second", "--parent", first.id);
    const { stdout, stderr } = await cli.run(["kanban", "list"]);
    expect(stdout).toBe(
      `TODO (1)\n  ${second.id}  -       Second  ! waits for First\n\nREADY (1)\n  ${first.id}  writer  First  ! no such profile\n`,
    );
    expect(stderr).toContain("no dispatcher is alive");
    expect((await cli.run(["kanban", "ls", "--flat", "--status", "ready"])).stdout).toBe(
      `ID          STATUS  PRIORITY  ASSIGNEE  TITLE  WHY\n${first.id}  ready   0         writer    First  no such profile\n`,
    );
    expect(await cli.run(["kanban", "list", "--status", "redy"])).toMatchObject({ status: 2, stderr: expect.stringContaining('"ready"') });
    expect((await cli.json<{ tasks: { id: string }[] }>(["kanban", "list", "--assignee", "none"])).tasks).toMatchObject([
      { id: second.id },
    ]);
    expect((await cli.json<{ tasks: unknown[] }>(["kanban", "list", "--mine"])).tasks).toEqual([]);
  });

  test("K12 K32 show tells everything about a task", async () => {
    await using cli = await createTestCli();
    const first = await make(cli, "First", "--body", "do\tthis\nand that");
    const second = await make(cli, "Second", "--parent", first.id);
    await cli.run(["kanban", "comment", first.id, "looks\ngood"]);
    await cli.run(["kanban", "complete", first.id, "--summary", "went well", "--cost", "0.5", "--tokens", "9"]);
    const { stdout } = await cli.run(["kanban", "show", first.id]);
    expect(stdout).toContain(`id: ${first.id}\ntitle: First\nboard: default\nstatus: done\n`);
    expect(stdout).toContain("usage: 1 runs, 9 tokens, cost 0.5\nbody:\n  do\tthis\n  and that\n");
    expect(stdout).toContain(`children:\n  ${second.id}  ready  Second\n`);
    expect(stdout).toMatch(/runs:\n {2}run \d+ {2}work {2}default {2}completed .*\n {4}went well\n/);
    expect(stdout).toMatch(/comments:\n {2}default, .* ago:\n {4}looks\n {4}good\n/);
    expect(stdout).toMatch(/completed {2}by default {2}ready → done {2}\{"summary":"went well"\}\n/);
    expect((await cli.run(["kanban", "show", second.id])).stdout).toContain("why: it has no assignee");
    expect(await cli.json(["kanban", "show", second.id])).toMatchObject({ why: [{ kind: "unassigned" }, { kind: "no-dispatcher" }] });
    expect(await cli.run(["kanban", "show", "t_ffffffff"])).toMatchObject({ status: 1 });
  });

  test("K12 K32 of a blocked task list and why say who blocked it and why, and commands to the terminal are only shown", async () => {
    await using cli = await createTestCli();
    const late = ["--deadline", "2126-11-20T12:00Z", "--cron", "0 6 * * *"];
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "Draw", ...late]);
    const { id } = task;
    await cli.run(["kanban", "block", id, "which logo?\u001b[2J\nthe old one?", "--kind", "needs_input"]);
    const said = "by default (needs_input): which logo?\\u001b[2J …";
    expect((await cli.run(["kanban", "list"])).stdout).toContain(`Draw  (due 2126-11-20 12:00Z, repeats)  ! ${said}\n`);
    expect((await cli.run(["kanban", "list", "--flat"])).stdout).toContain(`Draw  (due 2126-11-20 12:00Z, repeats)  ${said}\n`);
    expect((await cli.run(["kanban", "why", id])).stdout).toBe(
      `it is blocked ${said} (holdfast kanban comment ${id} TEXT, then holdfast kanban unblock ${id})\n`,
    );
  });

  test("K12 K32 why says only what keeps a task from running, in words or as data", async () => {
    await using cli = await createTestCli();
    const { id } = await make(cli, "a", "--assignee", "ghost");
    expect((await cli.run(["kanban", "why", id])).stdout).toBe(
      "there is no profile ghost (holdfast profile create ghost)\n" +
        "no dispatcher is alive on the board default (holdfast kanban dispatch --watch)\n",
    );
    const { why } = await cli.json<{ why: unknown }>(["kanban", "show", id]);
    expect(await cli.json(["kanban", "why", id])).toEqual({ task: id, status: "ready", why });
    await cli.run(["kanban", "complete", id]);
    expect((await cli.run(["kanban", "why", id])).stdout).toBe("it is done\n");
  });

  test("K32 nothing on a board reaches the terminal as a command to it", async () => {
    await using cli = await createTestCli();
    const hostile = "x\u001b[2J\u009b1m\u202e\r\nid: t_forged\u0007";
    const task = await make(cli, "title\u009b2J\u202e", "--body", hostile);
    await cli.run(["kanban", "comment", task.id, hostile]);
    await cli.run(["kanban", "block", task.id, hostile]);
    for (const args of [
      ["list"],
      ["list", "--flat"],
      ["show", task.id],
      ["context", task.id],
      ["runs", task.id],
      ["tail", "--no-follow", task.id],
    ]) {
      for (const json of [[], ["--json"]]) {
        const { status, stdout, stderr } = await cli.run(["kanban", ...args, ...json]);
        expect(status).toBe(0);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
        expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
        // The context has fences instead.
        if (!args.includes("context")) expect(stdout).not.toMatch(/^id: t_forged/m);
      }
    }
  });

  test("K5 a task is found on the board that is named, before or behind the verb, and on no other", async () => {
    await using cli = await createTestCli();
    const task = await make(cli, "x");
    expect(await cli.run(["kanban", "--board", "default", "show", task.id])).toMatchObject({ status: 0 });
    for (const args of [
      ["--board", "nope", "list"],
      ["list", "--board", "nope"],
    ]) {
      expect(await cli.run(["kanban", ...args])).toMatchObject({ status: 1, stderr: expect.stringContaining("there is no board nope") });
    }
    for (const verb of [["show"], ["complete"], ["archive"], ["block"], ["edit", "--priority", "1"]]) {
      const [name = "", ...flags] = verb;
      const words = name === "block" ? [task.id, "reason"] : [task.id];
      expect(await cli.run(["kanban", name, ...words, ...flags, "--board", "nope"])).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("is on the board default, not on nope"),
      });
    }
  });
});

describe("changing tasks", () => {
  test("K32 edit, assign, link, unlink, promote, unblock, schedule, archive", async () => {
    await using cli = await createTestCli();
    const a = await make(cli, "a");
    const b = await make(cli, "b", "--triage", "--deadline", "2030-01-01T00:00Z");
    const kanban = <T = Made["task"]>(...args: string[]) => cli.json<T>(["kanban", ...args]);
    expect(await kanban("edit", b.id, "--title", "bb", "--priority", "2", "--clear", "deadline")).toMatchObject({
      title: "bb",
      priority: 2,
      deadline: null,
    });
    expect(await kanban("assign", b.id, "Writer")).toMatchObject({ assignee: "writer" });
    expect(await kanban("reassign", b.id, "none")).toMatchObject({ assignee: null });
    expect(await kanban("promote", b.id)).toMatchObject([{ status: "ready" }]);
    expect(await kanban("link", a.id, b.id)).toMatchObject({ status: "todo" });
    expect(await kanban("unlink", a.id, b.id)).toMatchObject({ status: "ready" });
    expect(await kanban("schedule", b.id, "--in", "2h", "--reason", "later")).toMatchObject([{ status: "scheduled" }]);
    expect(await kanban("unblock", b.id)).toMatchObject([{ status: "ready" }]);
    expect(await kanban("archive", a.id, b.id)).toMatchObject([{ status: "archived" }, { status: "archived" }]);
    expect(await cli.run(["kanban", "edit", a.id])).toMatchObject({ status: 2, stderr: expect.stringContaining("nothing to change") });
    expect(await cli.run(["kanban", "schedule", a.id])).toMatchObject({ status: 2 });
    expect(await cli.run(["kanban", "edit", a.id, "--clear", "title"])).toMatchObject({ status: 2 });
  });

  test("K12 K34 assign and reassign warn of a profile that is missing or cannot work, and say how to take a task that runs", async () => {
    await using cli = await createTestCli();
    const { id } = await make(cli, "a");
    expect((await cli.run(["kanban", "assign", id, "writer"])).stderr).toContain(
      "warning: nothing picks it up yet: there is no profile writer",
    );
    await cli.run(["profile", "create", "writer"]);
    expect((await cli.run(["kanban", "reassign", id, "writer"])).stderr).toMatch(/warning: .*writer has no worker.command/);
    await cli.run(["config", "set", "worker.command", '["true"]', "-p", "writer"]);
    expect((await cli.run(["kanban", "assign", id, "writer"])).stderr).toBe(`note: ${id} is for writer\n`);
    await cli.run(["kanban", "claim", id]);
    const { status, stderr } = await cli.run(["kanban", "reassign", id, "default"]);
    expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining(`reassign ${id} default --reclaim`) });
  });

  test("K32 of several tasks those before the one that is refused are done, and are told", async () => {
    await using cli = await createTestCli();
    const a = await make(cli, "a");
    const { status, stderr } = await cli.run(["kanban", "archive", a.id, "t_ffffffff"]);
    expect(status).toBe(1);
    expect(stderr).toContain(`note: ${a.id} is archived\nerror: there is no task "t_ffffffff"`);
  });
});
