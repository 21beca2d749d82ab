import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";
import { openStore } from "../../board/store.ts";

interface Claimed {
  task: { id: string };
  env: Record<string, string>;
  run: { id: number };
}

async function claimed(cli: TestCli) {
  const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "Write", "--assignee", "writer"]);
  const { env } = await cli.json<Claimed>(["kanban", "claim", task.id]);
  return { id: task.id, env };
}

describe("a worker on the command line", () => {
  test("K29 K32 need not name its own task", async () => {
    await using cli = await createTestCli();
    const { id, env } = await claimed(cli);
    const run = (...args: string[]) => cli.run(["kanban", ...args], { env });
    await writeFile(join(cli.directory, "out.txt"), "result");
    expect(await run("heartbeat")).toMatchObject({ status: 0, stderr: expect.stringContaining(`the claim on ${id} lasts until`) });
    expect(await run("comment", "half way")).toMatchObject({ status: 0, stderr: `note: default has commented on ${id}\n` });
    expect(await cli.run(["kanban", "comment", "-"], { env, input: "from a pipe" })).toMatchObject({ status: 0 });
    expect(await run("attach", "out.txt", "--name", "other.txt")).toMatchObject({ status: 0 });
    expect((await run("attachments")).stdout).toMatch(/other\.txt +6 B +text\/plain +default +\//);
    expect((await run("context")).stdout).toContain(`# Task ${id}\n`);
    expect((await run("show")).stdout).toContain("status: running\n");
    const { status, stderr } = await run("complete", "--summary", "done", "--artifact", "out.txt", "--metadata", '{"n": 1}');
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringMatching(`^note: ${id} is done\nnote: out.txt is kept in /.*out.txt\n$`),
    });
    expect(await readFile(/kept in (.*)\n/.exec(stderr)?.[1] ?? "", "utf8")).toBe("result");
    const [only] = await cli.json<{ metadata: unknown; summary: string }[]>(["kanban", "runs", id]);
    expect(only).toMatchObject({ summary: "done", metadata: { n: 1, artifacts: ["out.txt"] } });
  });

  test("K17 K34 a person who has claimed a task is told how to be one again", async () => {
    await using cli = await createTestCli();
    const taken = await cli.run(["kanban", "claim", (await cli.run(["kanban", "create", "x"])).stdout.trim()]);
    const wayBack = "`unset HOLDFAST_TASK HOLDFAST_RUN_TOKEN HOLDFAST_BOARD`";
    expect(taken.stderr).toContain(wayBack);
    const env = Object.fromEntries([...taken.stdout.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]));
    expect((await cli.run(["kanban", "list"], { env })).stderr).toContain(wayBack);
    // A worker is not told how to leave its role.
    expect((await cli.run(["kanban", "list"], { env: { ...env, HOLDFAST_RUN: "1" } })).stderr).not.toContain("unset");
  });

  test("K17 K34 a person who has completed a task and forgot its variables is told so, and that nobody can take it twice", async () => {
    await using cli = await createTestCli();
    const { id, env } = await claimed(cli);
    expect(await cli.run(["kanban", "claim", id])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        `default has it \\(run 1\\), until 2.*Z\nhint: \`holdfast kanban reclaim ${id}\` takes it from whoever works on it\n$`,
      ),
    });
    expect(await cli.run(["kanban", "complete"], { env })).toMatchObject({ status: 0 });
    // The same word again is no second one.
    expect(await cli.run(["kanban", "complete"], { env })).toMatchObject({ status: 0, stderr: expect.stringContaining("is done") });
    for (const args of [
      ["complete", "--summary", "more"],
      ["create", "another"],
    ]) {
      const { status, stderr } = await cli.run(["kanban", ...args], { env });
      expect(status).toBe(3);
      expect(stderr).toMatch(new RegExp(`^error: run 1 of ${id} has ended \\(completed\\)\nhint: .*\`unset HOLDFAST_TASK `));
      expect(stderr).not.toContain("somebody else");
    }
    const worker = await cli.run(["kanban", "block", "x"], { env: { ...env, HOLDFAST_RUN: "1" } });
    expect(worker).toMatchObject({ status: 3, stderr: expect.not.stringContaining("unset") });
  });

  test("K32 K34 without its variables, a person who has claimed a task is told of them", async () => {
    await using cli = await createTestCli();
    const { id, env } = await claimed(cli);
    const refused = await cli.run(["kanban", "complete", id]);
    expect(refused).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("only its run can, and no variables of a run are set here\nhint: "),
    });
    expect(refused.stderr).toContain(`set the variables that claim printed, as \`eval "$(holdfast kanban claim ${id})"\``);
    expect(await cli.run(["kanban", "complete", id], { env })).toMatchObject({ status: 0 });
  });

  test.each([
    ["complete", ["complete"]],
    ["block", ["block", "why not"]],
    ["heartbeat", ["heartbeat"]],
    ["comment", ["comment", "late"]],
    ["request-review", ["request-review"]],
  ])("K17 K34 that lost its claim learns it by the status 3: %s", async (_, args) => {
    await using cli = await createTestCli();
    const { id, env } = await claimed(cli);
    expect(await cli.run(["kanban", "reclaim", id])).toMatchObject({ status: 0, stderr: expect.stringContaining("is ready again") });
    expect(await cli.run(["kanban", ...args], { env })).toMatchObject({ status: 3 });
    const asJson = await cli.run(["kanban", ...args, "--json"], { env });
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { code: "claim-lost" } });
  });

  test("K29 is refused what is not for it", async () => {
    await using cli = await createTestCli();
    const { env } = await claimed(cli);
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "Other"]);
    for (const args of [
      ["list"],
      ["unblock", task.id],
      ["complete", task.id],
      ["block", task.id, "x"],
      ["claim", task.id],
      ["watch"],
      ["stats"],
    ]) {
      expect(await cli.run(["kanban", ...args], { env })).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("out of reach here"),
      });
    }
    expect(await cli.run(["kanban", "comment", "x", "--author", "somebody"], { env })).toMatchObject({ status: 2 });
    expect(await cli.run(["kanban", "complete", "--created", "t_00000000"], { env })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('names "t_00000000" as created, which does not exist'),
    });
  });

  test("K29 ends with block, request-review and request-changes", async () => {
    await using cli = await createTestCli();
    const { id, env } = await claimed(cli);
    expect(await cli.json(["kanban", "request-review", "--summary", "look", "--reviewer", "editor"], { env })).toMatchObject({
      status: "review",
      assignee: "editor",
    });
    expect(await cli.json(["kanban", "request-changes", id, "more tests"])).toMatchObject({ status: "ready", assignee: "default" });
    const { env: again } = await cli.json<Claimed>(["kanban", "claim", id]);
    expect(await cli.json(["kanban", "block", "which logo?", "--kind", "needs_input"], { env: again })).toMatchObject({
      status: "blocked",
      blocked: { kind: "needs_input", reason: "which logo?" },
    });
    expect(await cli.run(["kanban", "block", id])).toMatchObject({ status: 2, stderr: expect.stringContaining("missing reason") });
    expect(await cli.run(["kanban", "block", id, "x", "--kind", "gave_up"])).toMatchObject({ status: 2 });
  });
});

describe("looking on", () => {
  test("K27 K32 log prints what workers printed: all, the end, or as it comes", async () => {
    await using cli = await createTestCli();
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "x"]);
    const nothing = "note: there is no log of this task here: no worker of it has printed anything, or its log was removed\n";
    expect(await cli.run(["kanban", "log", task.id])).toEqual({ status: 0, stdout: "", stderr: nothing });
    expect(await cli.run(["kanban", "log", task.id, "--json"])).toEqual({ status: 0, stdout: "", stderr: "" });
    const path = join(cli.home, "kanban/boards/default/logs", `${task.id}.log`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, "first\nsecond\n");
    expect((await cli.run(["kanban", "log", task.id])).stdout).toBe("first\nsecond\n");
    expect((await cli.run(["kanban", "log", task.id, "--tail", "7"])).stdout).toBe("second\n");
    expect((await cli.run(["kanban", "log", task.id, "--json"])).stdout).toBe('{"text":"first\\nsecond\\n"}\n');
    const following = cli.start(["kanban", "log", "-f", task.id]);
    await following.untilPrinted("second");
    await appendFile(path, "third\n");
    await following.untilPrinted("third");
    following.child.kill("SIGINT");
    expect(await following.ended).toMatchObject({ status: 130, stdout: "first\nsecond\nthird\n" });
  }, 30_000);

  test("K27 K32 log -f of a task that has none yet says so, and prints what comes", async () => {
    await using cli = await createTestCli();
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "x"]);
    const path = join(cli.home, "kanban/boards/default/logs", `${task.id}.log`);
    await mkdir(dirname(path), { recursive: true });
    const following = cli.start(["kanban", "log", "-f", task.id]);
    await following.untilPrinted("note: there is no log of this task here");
    await writeFile(path, "first\n");
    await following.untilPrinted("first");
    following.child.kill("SIGINT");
    expect(await following.ended).toMatchObject({ status: 130, stdout: "first\n" });
  }, 30_000);

  test("K27 K32 runs of a task that has none says so, and where to ask why", async () => {
    await using cli = await createTestCli();
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "x"]);
    expect(await cli.run(["kanban", "runs", task.id])).toEqual({
      status: 0,
      stdout: "",
      stderr: `note: nobody has worked on this task yet (holdfast kanban why ${task.id})\n`,
    });
    expect(await cli.json(["kanban", "runs", task.id])).toEqual([]);
  });

  test("K27 log prints what was moved aside when the log grew, too, and counts it for --tail", async () => {
    await using cli = await createTestCli();
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "x"]);
    const path = join(cli.home, "kanban/boards/default/logs", `${task.id}.log`);
    await mkdir(dirname(path), { recursive: true });
    const print = async (...flags: string[]) => (await cli.run(["kanban", "log", task.id, ...flags])).stdout;
    await writeFile(`${path}.2`, "first\n");
    await writeFile(`${path}.1`, "second\n");
    // Its writer was killed before it had begun the next one.
    expect(await print()).toBe("first\nsecond\n");
    await writeFile(path, "third\n");
    expect(await print()).toBe("first\nsecond\nthird\n");
    expect(await print("--tail", "9")).toBe("nd\nthird\n");
    expect(await print("--tail", "3")).toBe("rd\n");
    const following = cli.start(["kanban", "log", "-f", task.id]);
    await following.untilPrinted("third");
    await appendFile(path, "fourth\n");
    await following.untilPrinted("fourth");
    following.child.kill("SIGINT");
    expect(await following.ended).toMatchObject({ status: 130, stdout: "first\nsecond\nthird\nfourth\n" });
  }, 30_000);

  test.each([
    ["a pipe", (path: string) => execFileSync("mkfifo", [path])],
    ["a link", (path: string) => symlinkSync("/etc/passwd", path)],
    ["a directory", (path: string) => mkdirSync(path)],
  ])("K27 log refuses %s in the place of the log, and does not wait for it", async (_, make) => {
    await using cli = await createTestCli();
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "x"]);
    const path = join(cli.home, "kanban/boards/default/logs", `${task.id}.log`);
    await mkdir(dirname(path), { recursive: true });
    make(path);
    expect(await cli.run(["kanban", "log", task.id])).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(path) });
  });

  test("K32 watch prints what happens on the board from then on, filtered", async () => {
    await using cli = await createTestCli();
    const before = await cli.json<{ task: { id: string } }>(["kanban", "create", "before", "--assignee", "writer"]);
    const watching = cli.start(["kanban", "watch", "--assignee", "writer", "--kinds", "created,completed"]);
    await watching.untilPrinted("watching the board default");
    await cli.run(["kanban", "create", "of nobody"]);
    const after = await cli.json<{ task: { id: string } }>(["kanban", "create", "after", "--assignee", "writer"]);
    await watching.untilPrinted(after.task.id);
    await cli.run(["kanban", "comment", after.task.id, "hm"]);
    await cli.run(["kanban", "complete", before.task.id]);
    await watching.untilPrinted("completed");
    watching.child.kill("SIGINT");
    const { status, stdout } = await watching.ended;
    expect(status).toBe(130);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.split("  ").slice(1, 3)),
    ).toEqual([
      [after.task.id, "created"],
      [before.task.id, "completed"],
    ]);
  }, 30_000);

  test("K11 K32 stats counts tasks and adds up what they cost", async () => {
    await using cli = await createTestCli();
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "x"]);
    await cli.run(["kanban", "create", "y", "--assignee", "writer"]);
    await cli.run(["kanban", "complete", task.id, "--cost", "1.5", "--tokens", "10"]);
    expect(await cli.json(["kanban", "stats"])).toMatchObject({
      counts: { ready: 1, done: 1 },
      assignees: [
        { assignee: "writer", counts: { ready: 1 } },
        { assignee: null, counts: { done: 1 } },
      ],
      runs: { completed: 1, open: 0 },
      usage: { runs: 1, cost: 1.5, tokens: 10 },
      dispatcher: null,
    });
    expect((await cli.run(["kanban", "stats"])).stdout).toContain("tasks: 1 ready, 1 done\n");
    expect((await cli.run(["kanban", "stats"])).stdout).toContain("runs: 1 completed\n");
  });
});

test("S17 K12 show and why tell with what settings the sandbox of the last run had been made", async () => {
  await using cli = await createTestCli();
  const id = (await cli.run(["kanban", "create", "x", "--assignee", "default"])).stdout.trim();
  await using store = await openStore(join(cli.home, "kanban/board.db"));
  const { run, token } = await store.claim(id, { by: "d" });
  await store.recordDrift(run.id, { sandbox: id, changed: ["cpu (made with: 1; now: 2)"], replaced: false });
  await store.block(id, { reason: "a question" }, { token });
  const words = "its sandbox had been made with other settings: cpu (made with: 1; now: 2); it was used as it was";
  const shown = (await cli.run(["kanban", "show", id])).stdout;
  expect(shown).toContain(`    ${words}\n`);
  expect(shown).toContain("sandbox_drifted");
  const why = (await cli.run(["kanban", "why", id])).stdout;
  expect(why).toContain(`run ${run.id} did not have all settings that are configured: ${words}`);
  expect(why).toContain(`holdfast sandbox reset ${id} -p default`);
});
