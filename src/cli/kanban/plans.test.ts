import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";
import { type Answer, startModelServer } from "../../../test/helpers/model-server.ts";
import { openStore } from "../../board/store.ts";

const KEY = "sk-very-secret-0123456789";
const ANSWER = JSON.stringify({
  fanout: true,
  rationale: "two \u001b[31mhalves",
  tasks: [
    { title: "first", body: "do it", assignee: "ada", parents: [] },
    { title: "second\u001b[2J", body: "", assignee: "nobody", parents: [0] },
  ],
});

async function withModel(cli: TestCli, script: readonly Answer[]) {
  const server = await startModelServer(script);
  await mkdir(cli.home, { recursive: true });
  await writeFile(join(cli.home, ".env"), `HOLDFAST_MODEL_API_KEY=${KEY}\n`, { mode: 0o600 });
  await writeFile(join(cli.home, "config.yaml"), `model:\n  base_url: ${server.baseUrl}\n  name: tiny\n`);
  for (const name of ["ada", "bob"]) await cli.run(["profile", "create", name]);
  await cli.run(["kanban", "init"]);
  return server;
}

async function idea(cli: TestCli, title = "an idea"): Promise<string> {
  await using store = await openStore(join(cli.home, "kanban/board.db"));
  return (await store.createTask({ title, initial: "triage" }, { by: "tester" })).task.id;
}

describe("K35 decompose", () => {
  test("shows what it made, warns of what it changed, and lets the model write to no terminal", async () => {
    await using cli = await createTestCli();
    await using server = await withModel(cli, [ANSWER]);
    const id = await idea(cli);
    const dry = await cli.run(["kanban", "decompose", id, "--dry-run"]);
    expect(dry).toEqual({
      status: 0,
      stdout: `${id}: would become 2 tasks: two [31mhalves\nTASK  ASSIGNEE  AFTER  TITLE\n#1    ada       -      first\n#2    default   #1     second [2J\n`,
      stderr: 'warning: there is no profile "nobody" for "second [2J", so it goes to the profile default\n',
    });
    const { status, stdout } = await cli.run(["kanban", "decompose", id]);
    expect([status, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^${id}: became 2 tasks`))]);
    expect(server.requests.map(({ authorization }) => authorization)).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);
    expect(await cli.run(["kanban", "decompose", id])).toMatchObject({ status: 1 });
    expect((await cli.run(["kanban", "decompose", "--all"])).stderr).toBe("note: no task is in triage\n");
  });

  test("without a model says how to have one", async () => {
    await using cli = await createTestCli();
    await cli.run(["kanban", "init"]);
    const id = await idea(cli);
    for (const verb of ["decompose", "specify"]) {
      const { status, stderr } = await cli.run(["kanban", verb, id]);
      expect([status, stderr]).toEqual([1, expect.stringMatching(/has no model\nhint: .*model\.base_url.*HOLDFAST_MODEL_API_KEY/)]);
    }
  });

  test.for<[string, Answer]>([
    ["refuses the key", { status: 401, body: JSON.stringify({ error: { message: `no such key: ${KEY}` } }) }],
    ["is broken", { status: 500, headers: { "retry-after": "0" } }],
    ["says no JSON", `here is your key: ${KEY}`],
  ])("by a model that %s fails without showing the key anywhere", async ([, answer]) => {
    await using cli = await createTestCli();
    await using _server = await withModel(cli, [answer]);
    const id = await idea(cli);
    for (const args of [["--json"], ["--debug"], []]) {
      const { status, stdout, stderr } = await cli.run(["kanban", "decompose", id, ...args]);
      expect(status).toBe(1);
      expect(stdout + stderr).not.toContain(KEY);
    }
    const all = await cli.run(["kanban", "decompose", "--all"]);
    expect(all).toMatchObject({ status: 1, stderr: expect.stringContaining(`${id} was left as it is`) });
    expect(all.stderr).not.toContain(KEY);
  });
});

test("K35 specify shows the better title", async () => {
  await using cli = await createTestCli();
  await using _server = await withModel(cli, ['{"title": "Clear", "body": "Very"}']);
  const id = await idea(cli);
  expect(await cli.run(["kanban", "specify", id])).toEqual({ status: 0, stdout: `${id}: Clear (ready)\n`, stderr: "" });
});

describe("K35 swarm", () => {
  const rest = ["--verifier", "ada", "--synthesizer", "bob"];

  test("reads workers as profile, title and skills, and gives the same swarm for the same key", async () => {
    await using cli = await createTestCli();
    for (const name of ["ada", "bob"]) await cli.run(["profile", "create", name]);
    const workers = ["--worker", "ada:Look: at A:research,web-search", "--worker=bob:Fix: the docs"];
    const args = ["kanban", "swarm", "Compare them", ...workers, ...rest, "--priority", "-2", "--idempotency-key", "k"];
    const made = await cli.json<{ root: string; workers: string[]; created: boolean }>(args);
    await using store = await openStore(join(cli.home, "kanban/board.db"));
    expect(await Promise.all(made.workers.map((id) => store.getTask(id)))).toMatchObject([
      { title: "Look: at A", skills: ["research", "web-search"], assignee: "ada", priority: -2 },
      { title: "Fix: the docs", skills: null, assignee: "bob" },
    ]);
    const again = await cli.run(args);
    expect(again.stderr).toBe("note: this swarm was built before\n");
    expect(again.stdout).toContain(`blackboard: ${made.root}\nworkers: ${made.workers.join(", ")}\n`);
  });

  test.for([
    [["swarm", "goal", ...rest], "--worker"],
    [["swarm", "goal", "--worker", "ada", ...rest], "needs a profile and a title"],
    [["swarm", "goal", "--worker", ":x", ...rest], "needs a profile and a title"],
    [["swarm", "goal", "--worker", "ada:x", "--verifier", "ada"], "--synthesizer"],
  ] as const)("does not take %j", async ([args, message]) => {
    await using cli = await createTestCli();
    expect(await cli.run(["kanban", ...args])).toMatchObject({ status: 2, stderr: expect.stringContaining(message) });
  });
});
