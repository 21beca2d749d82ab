import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";
import { installId } from "../../app/install.ts";
import { openStore } from "../../board/store.ts";
import { currentPlace } from "../../dispatcher/place.ts";
import { emptyResult } from "../../dispatcher/result.ts";

const BUCKETS = Object.keys(emptyResult());
const SLOW = 60_000;

/** A profile whose worker ends at once, and does nothing. */
async function withWorker(profile: string): Promise<TestCli> {
  const cli = await createTestCli();
  await cli.run(["profile", "create", profile]);
  await cli.run(["config", "set", "worker.command", '["true"]', "-p", profile]);
  await cli.run(["config", "set", "worker.sandbox", "none", "-p", profile]);
  return cli;
}

const make = async (cli: TestCli, title: string) => (await cli.run(["kanban", "create", title])).stdout.trim();
const set = (cli: TestCli, key: string, value: string) => cli.run(["config", "set", `kanban.${key}`, value, "-p", "default"]);

/** Nothing of its worker is left then. */
async function untilWorkerEnded(cli: TestCli, task: string): Promise<void> {
  const tail = cli.start(["kanban", "tail", task]);
  await tail.untilPrinted("worker_exited");
  tail.child.kill("SIGINT");
  await tail.ended;
}

/** A run whose worker has ended, its supervisor too, and what else it started is in a container of an engine that does not answer. */
async function workerAway(cli: TestCli, task: string): Promise<void> {
  await using store = await openStore(join(cli.home, "kanban/board.db"));
  const { token, run } = await store.claim(task, { by: "ada" });
  const owner = { install: "i", profile: "ada", task };
  await store.recordWorker(task, token, {
    place: currentPlace(await installId(cli.home)),
    supervisor: { pid: 4_194_304, startedAt: "never" },
    ...{ mark: "m", sandbox: "task", workspace: cli.directory, isolated: true },
    address: {
      ref: { driver: "docker", id: "0123456789abcdef", owner, fingerprint: "f", state: "running", createdAt: 1 },
      directory: cli.directory,
      access: { settings: {}, variables: { HOLDFAST_DOCKER_BINARY: "/nowhere/docker" }, engine: "docker E1" },
    },
  });
  await store.recordExit(run.id, { code: 1, signal: null, reason: "exited" });
}

test(
  "K14 K15 K16 K33 dispatch says in words who got what and who must wait, and with --json every bucket",
  async () => {
    await using cli = await withWorker("ada");
    await set(cli, "default_assignee", "ada");
    await set(cli, "max_in_progress_per_profile", "1");
    const [first, second] = [await make(cli, "first"), await make(cli, "second")];
    const words = (start: string) =>
      `Auto-assigned to kanban.default_assignee='ada': ${first}, ${second}\n${start}\nDeferred (ada at per-profile cap, 1 running): ${second}\n`;

    const workspace = join(cli.home, "kanban/boards/default/workspaces", first);
    const dry = await cli.runProcess(["kanban", "dispatch", "--dry-run"]);
    expect(dry).toMatchObject({ status: 0, stdout: expect.stringMatching(new RegExp(`^Would auto-assign .*: ${first}, ${second}\\n`)) });
    expect(dry.stdout).toContain(`Deferred (ada at per-profile cap, 1 running): ${second}\n`);
    expect(await cli.json(["kanban", "show", first])).toMatchObject({ task: { status: "ready", assignee: null }, runs: [] });

    const real = await cli.runProcess(["kanban", "dispatch"]);
    expect(real).toMatchObject({ status: 0, stdout: words(`Spawned ${first} for ada in ${workspace}`) });
    await untilWorkerEnded(cli, first);
    expect((await cli.run(["kanban", "show", first])).stdout).toContain(`files: still in ${workspace}\n`);
    const { events } = await cli.json<{ events: { kind: string; payload: object }[] }>(["kanban", "show", first]);
    expect(events.find(({ kind }) => kind === "assigned")?.payload).toEqual({ assignee: "ada", source: "kanban.default_assignee" });
    expect(events.find(({ kind }) => kind === "worker_started")?.payload).toEqual({
      supervisor: expect.any(Number),
      sandbox: "none",
      workspace,
    });

    const json = await cli.runProcess(["kanban", "dispatch", "--max", "0", "--json"]);
    const result = JSON.parse(json.stdout) as Record<string, unknown>;
    expect(Object.keys(result).toSorted()).toEqual(BUCKETS.toSorted());
    expect(result).toMatchObject({ protocol_violation: [first], skipped_capped: [{ task: second, cap: "max" }], spawned: [] });
  },
  SLOW,
);

test(
  "S48 K20 dispatch --failure-limit counts in place of kanban.failure_limit",
  async () => {
    await using cli = await withWorker("ada");
    await cli.run(["config", "set", "worker.command", '["false"]', "-p", "ada"]);
    await set(cli, "failure_limit", "9");
    await set(cli, "retry_backoff_seconds", "0");
    const task = (await cli.run(["kanban", "create", "x", "--assignee", "ada"])).stdout.trim();
    await cli.runProcess(["kanban", "dispatch"]);
    await untilWorkerEnded(cli, task);
    expect((await cli.runProcess(["kanban", "dispatch", "--failure-limit", "1", "--json"])).status).toBe(0);
    expect(await cli.json(["kanban", "show", task])).toMatchObject({ task: { status: "blocked" } });
    for (const wrong of ["0", "-1", "1.5", "x"]) {
      expect(await cli.run(["kanban", "dispatch", "--failure-limit", wrong])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining("--failure-limit needs a whole number from 1 up"),
      });
    }
  },
  SLOW,
);

test(
  "K26 K32 K33 dispatch --watch --json prints a line for each pass that did something; settings are told, also one that names no profile",
  async () => {
    await using cli = await withWorker("ada");
    await set(cli, "default_assignee", "nobody-there");
    const watching = cli.start(["kanban", "dispatch", "--watch", "--json"]);
    onTestFinished(() => void watching.child.kill("SIGTERM"));
    const printed = await watching.untilPrinted("there is no such profile");
    expect(printed).toContain('warning: kanban.default_assignee is "nobody-there", but there is no such profile: tasks of nobody wait\n');
    expect(printed).toContain("default_assignee=nobody-there");
    const task = await make(cli, "x");
    await watching.untilPrinted(`"skipped_unassigned":["${task}"]`);
    await set(cli, "default_assignee", "ada");
    // A change of the settings counts at the next pass.
    const other = await make(cli, "y");
    await watching.untilPrinted(`"task":"${other}","assignee":"ada","workspace"`);
    await untilWorkerEnded(cli, task);
    await untilWorkerEnded(cli, other);
    watching.child.kill("SIGTERM");
    const { status, stdout, stderr } = await watching.ended;
    expect(status).toBe(143);
    expect(stderr.split("no such profile")).toHaveLength(2);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const line of lines) expect(Object.keys(line).toSorted()).toEqual([...BUCKETS, "board", "time"].toSorted());
    expect(lines.every(({ board }) => board === "default")).toBe(true);
  },
  SLOW,
);

test("K26 diagnostics tells of a kanban.default_assignee that names no profile", async () => {
  await using cli = await createTestCli();
  await set(cli, "default_assignee", "ghost");
  expect(await cli.json(["kanban", "diagnostics"])).toMatchObject([
    { rule: "bad-setting", severity: "warning", text: expect.stringContaining('"ghost", but there is no such profile') },
  ]);
  const config = join(cli.home, "config.yaml");
  await writeFile(config, (await readFile(config, "utf8")).replace("ghost", "default"));
  expect(await cli.json(["kanban", "diagnostics"])).toEqual([]);
});

test(
  "K18 K24 K33 dispatch --watch says who leads and how many workers go on, and why one could not be started",
  async () => {
    await using cli = await withWorker("ada");
    await cli.run(["config", "set", "worker.command", '["sleep", "60"]', "-p", "ada"]);
    const first = cli.start(["kanban", "dispatch", "--watch"]);
    await first.untilPrinted("dispatching with these settings");
    const task = (await cli.run(["kanban", "create", "x", "--assignee", "ada"])).stdout.trim();
    const bad = (await cli.run(["kanban", "create", "y", "--assignee", "ada", "--workspace", "dir:/dev/null/x"])).stdout.trim();
    await first.untilPrinted(`Spawned ${task}`);
    await first.untilPrinted(`Could not be started: ${bad} (`);
    const second = cli.start(["kanban", "dispatch", "--watch"]);
    await second.untilPrinted("Waits: another dispatcher leads this board");
    const third = cli.start(["kanban", "dispatch", "--watch"]);
    await third.untilPrinted("Waits: another dispatcher leads this board");
    third.child.kill("SIGINT");
    const { stderr } = await third.ended;
    expect(stderr).toContain("note: 1 worker goes on under another dispatcher, which leads the board\n");
    expect(stderr).not.toContain("takes over");
    first.child.kill("SIGINT");
    expect((await first.ended).stderr).toContain("1 worker goes on; the next dispatcher takes over");
    await second.untilPrinted("this dispatcher leads the board now");
    await cli.run(["kanban", "reclaim", task]);
    second.child.kill("SIGINT");
    await second.ended;
    await cli.run(["kanban", "archive", task]);
  },
  SLOW,
);

test(
  "K12 K32 of a task whose worker has ended since a single pass, why, show, list and diagnostics say so, and that nobody judges it",
  async () => {
    await using cli = await withWorker("ada");
    await cli.run(["config", "set", "worker.command", '["sh", "-c", "exit 4"]', "-p", "ada"]);
    const task = (await cli.run(["kanban", "create", "x", "--assignee", "ada"])).stdout.trim();
    await cli.runProcess(["kanban", "dispatch"]);
    await untilWorkerEnded(cli, task);
    const ended = "its worker has ended (exit status 4), and a dispatcher has to judge it";
    const alone = "no dispatcher is alive on the board default";
    expect((await cli.run(["kanban", "why", task])).stdout).toMatch(`${ended}\n${alone}`);
    const { stdout: shown } = await cli.run(["kanban", "show", task]);
    expect(shown).toContain(`why: ${ended}\n`);
    expect(shown).toMatch(/^ {2}run 1 {2}work {2}ada {2}open, worker ended \(exit status 4\) {2}\S+ ago$/m);
    expect(await cli.run(["kanban", "list"])).toMatchObject({
      stdout: expect.stringContaining("x  ! worker ended\n"),
      stderr: expect.stringContaining(alone),
    });
    expect(await cli.json(["kanban", "diagnostics"])).toMatchObject([{ rule: "worker-ended", severity: "error", task }]);
  },
  SLOW,
);

test(
  "K12 K18 K33 of a run that cannot be ended, because the engine does not answer, why says so, and Ctrl-C counts no worker that goes on",
  async () => {
    await using cli = await withWorker("ada");
    const task = (await cli.run(["kanban", "create", "x", "--assignee", "ada"])).stdout.trim();
    await workerAway(cli, task);
    const watching = cli.start(["kanban", "dispatch", "--watch"]);
    onTestFinished(() => void watching.child.kill("SIGTERM"));
    await watching.untilPrinted("could not be ended, so the task stays running");
    const { stdout } = await cli.run(["kanban", "why", task]);
    expect(stdout).toMatch(/^run 1 was revoked at \S+, and its worker has ended \(exit status 1\), but it is not known yet/);
    expect((await cli.run(["kanban", "list"])).stdout).toMatch(/x {2}\(for \d+s\) {2}! being ended\n/);
    watching.child.kill("SIGINT");
    const { stderr } = await watching.ended;
    expect(stderr).not.toContain("on; the next dispatcher takes over");
  },
  SLOW,
);

test.each([
  [["--dry-run"], "--watch and --dry-run cannot be given together"],
  [["--max", "1"], "--watch and --max cannot be given together"],
  [["--board", "default"], "--watch and --board cannot be given together"],
])(
  "K16 K32 dispatch --watch starts nobody when it is given %j, which it would not keep to",
  async (flags, message) => {
    await using cli = await withWorker("ada");
    const task = (await cli.run(["kanban", "create", "x", "--assignee", "ada"])).stdout.trim();
    const watching = cli.start(["kanban", "dispatch", "--watch", ...flags]);
    onTestFinished(() => void watching.child.kill("SIGTERM"));
    await watching.untilPrinted(message);
    expect(await watching.ended).toMatchObject({ status: 2 });
    expect(await cli.json(["kanban", "show", task])).toMatchObject({ task: { status: "ready" }, runs: [] });
  },
  SLOW,
);

test(
  "K12 K14 K29 K34 what comes from a sandbox waits for another profile or for leave: dispatch, why, show and create say so",
  async () => {
    await using cli = await withWorker("ada");
    const open = join(cli.directory, "open");
    await mkdir(open);
    await cli.run(["kanban", "init"]);
    let id: string;
    {
      await using store = await openStore(join(cli.home, "kanban/board.db"));
      const { task } = await store.createTask({ title: "parent" }, { by: "tester" });
      const { token } = await store.claim(task.id, { by: "tester" });
      await store.enterSandbox(task.id, token, [{ path: await realpath(open), managed: false }]);
      await store.recordWorker(task.id, token, { isolated: true });
      id = (await store.createTask({ title: "child", assignee: "ada" }, { task: task.id, token })).task.id;
    }
    const text = "it comes from a sandbox, and workers of ada run on the host";
    expect(await cli.json(["kanban", "why", id])).toMatchObject({
      why: expect.arrayContaining([expect.objectContaining({ kind: "from-sandbox", text })]),
    });
    const { stdout } = await cli.run(["kanban", "show", id]);
    expect(stdout).toContain("from: a sandbox\n");
    expect(stdout).toContain(`why: ${text} (`);
    expect(stdout).toContain("holdfast config set -p ada worker.accepts_from_sandboxes true");

    const made = await cli.run(["kanban", "create", "x", "--assignee", "ada", "--workspace", `dir:${open}/sub`]);
    expect(made.stderr).toContain(`a sandbox could write to ${await realpath(open)} (`);
    const tree = await cli.run(["kanban", "create", "y", "--assignee", "ada", "--workspace", `worktree:${open}`]);
    expect(tree.stderr).toContain("git would run on the host what that repository names");
    const words = [
      `Skipped (they come from a sandbox, and workers of ada run on the host): ${id}`,
      `Skipped (a sandbox could write to their directory, and workers of ada run on the host): ${made.stdout.trim()}`,
      `Skipped (a sandbox could write to their repository, and git would run what it names on the host): ${tree.stdout.trim()}`,
    ].join("\n");
    expect((await cli.runProcess(["kanban", "dispatch"])).stdout).toBe(`${words}\n`);

    await cli.run(["config", "set", "worker.accepts_from_sandboxes", "true", "-p", "ada"]);
    expect((await cli.runProcess(["kanban", "dispatch", "--dry-run"])).stdout).toContain(`Would spawn ${id} for ada`);
    expect((await cli.run(["kanban", "show", id])).stdout).not.toContain(text);
  },
  SLOW,
);
