import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";
import { CONFIG_KEYS } from "../../config/schema.ts";

let cli: TestCli;
beforeAll(async () => {
  cli = await createTestCli();
  await cli.run(["profile", "create", "reviewer"]);
  await cli.run(["exec", "-s", "main", "true"]);
  await cli.run(["exec", "-t", "build", "-s", "release", "true"]);
  await cli.run(["exec", "-p", "reviewer", "-t", "review", "true"]);
});
afterAll(() => cli[Symbol.asyncDispose]());

/** The words offered at the end of the line. */
async function offered(line: string): Promise<string[]> {
  return (await answer(line)).slice(1).map((text) => text.split("\t")[0] ?? "");
}

async function answer(line: string): Promise<string[]> {
  const { status, stdout, stderr } = await cli.run(["__complete", ...line.split(" ")]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.trimEnd().split("\n");
}

const keys = CONFIG_KEYS.map(({ key }) => key);

describe("what is offered", () => {
  test("verbs and subverbs, but no aliases", async () => {
    expect(await offered("")).toEqual([
      "exec",
      "shell",
      "process",
      "cp",
      "session",
      "sandbox",
      "config",
      "profile",
      "kanban",
      "mcp",
      "doctor",
      "completion",
      "help",
    ]);
    expect(await offered("-p reviewer --debug ")).toContain("exec");
    expect(await offered("sandbox ")).toEqual(["ls", "inspect", "up", "stop", "prune", "explain", "rm", "reset"]);
    expect(await offered("config ")).toEqual(["get", "set", "unset", "list", "explain", "import-hermes", "path", "edit"]);
    expect(await offered("nosuch ")).toEqual([]);
  });

  test("K5 K32 boards", async () => {
    await cli.run(["kanban", "boards", "create", "site", "--name", "The site"]);
    expect(await answer("kanban boards show ")).toContain("site\tThe site");
    for (const words of ["list --board", "--board", "boards switch", "boards rm", "boards rm site --confirm", "boards export"])
      expect(await offered(`kanban ${words} `), words).toEqual(["default", "site"]);
    expect(await offered("kanban boards create ")).toEqual([]);
  });

  test("K32 tasks of the board, also for each of several", async () => {
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "Write"]);
    expect(await answer("kanban show ")).toEqual(["words", `${task.id}\tready: Write`]);
    for (const line of ["kanban archive ", `kanban archive ${task.id} `, "kanban create x --parent ", "kanban --board default link "]) {
      expect(await offered(line)).toEqual([task.id]);
    }
    expect(await offered("kanban assign t_1 ")).toEqual(["default", "reviewer"]);
    expect(await offered("kanban list --assignee ")).toEqual(["default", "reviewer"]);
  });

  test("flags of the verb, without those that are given, unless they may be repeated", async () => {
    const all = await offered("exec -");
    expect(all).toEqual(
      expect.arrayContaining(["--task", "--session", "--timeout", "--cwd", "--env", "--stdin", "--json", "--profile", "--help"]),
    );
    const rest = await offered("exec -t build --json --env A=1 -c terminal.timeout=1 --");
    expect(rest).not.toContain("--task");
    expect(rest).not.toContain("--json");
    expect(rest).toEqual(expect.arrayContaining(["--env", "--config"]));
    expect(await offered("sandbox ls --")).toContain("--all");
  });

  test.each([
    ["-p ", ["default", "reviewer"]],
    ["exec --profile ", ["default", "reviewer"]],
    ["profile create x --clone-from ", ["default", "reviewer"]],
    ["profile show ", ["default", "reviewer"]],
    ["profile use ", ["default", "reviewer"]],
    ...["describe", "rename", "delete", "rm", "export", "delete x --confirm"].map((words): [string, string[]] => [
      `profile ${words} `,
      ["default", "reviewer"],
    ]),
    ["profile rename reviewer ", []],
    ["profile create ", []],
    ["exec --profile=", ["--profile=default", "--profile=reviewer"]],
    ["exec -t ", ["build", "default"]],
    ["exec -p reviewer --task ", ["review"]],
    ["sandbox rm ", ["build", "default"]],
    ["sandbox reset -f ", ["build", "default"]],
    ["sandbox inspect ", ["build", "default"]],
    ["sandbox rm build ", []],
    ["exec -s ", ["main"]],
    ["exec -t build --session ", ["release"]],
    ["session rm ", ["main"]],
    ["session rm -t build ", ["release"]],
    ["session ls -t ", ["build", "default"]],
    ["config get ", keys],
    ["config set ", keys],
    ["config unset ", keys],
    ["config explain ", keys],
    ["config set terminal.backend ", ["docker", "local", "memory"]],
    ["config set terminal.docker_network ", ["true", "false"]],
    ["config set terminal.timeout ", []],
    ["exec -c ", keys.map((key) => `${key}=`)],
    ["-c terminal.container_limits=", ["terminal.container_limits=lenient", "terminal.container_limits=strict"]],
    ["--config=terminal.container_limits=s", ["--config=terminal.container_limits=lenient", "--config=terminal.container_limits=strict"]],
    ["completion ", ["bash", "fish", "zsh"]],
    ["exec --timeout ", []],
  ])("at the end of %j are all that fit", async (line, expected) => {
    expect(await offered(line)).toEqual(expected);
  });

  test("with what it means", async () => {
    expect(await answer("sandbox ")).toContain("inspect\tshow one sandbox");
    expect(await answer("exec -t ")).toContain("build\tlocal, running");
    expect(await answer("profile use ")).toContain(`default\t${cli.home}`);
    expect(await answer("config set terminal.backend ")).toContain("local\tdefault");
  });

  test.each([
    ["exec ", "command 2"],
    ["exec -- ", "command 3"],
    ["exec -t build ", "command 4"],
    ["exec -t build -- git com", "command 5"],
    ["exec git --", "command 2"],
    ["exec --cwd ", "directories"],
    ["exec --cwd=/", "directories"],
    ["process start -- ", "command 4"],
    ["cp ", "files"],
    ["profile import ", "files"],
    ["profile export reviewer -o ", "files"],
    ["cp ./a :", "words"],
    ["cp :a ", "files"],
  ])("%j is left to the shell: %s", async (line, kind) => {
    expect(await answer(line)).toEqual([kind]);
  });
});

describe("whatever is wrong", () => {
  test.each([
    ["exec -p nosuch -t ", {}],
    ["exec -t ", { HOLDFAST_PROFILE: "nosuch" }],
    ["exec -t ", { TERMINAL_BACKEND: "nonsense" }],
    ["exec -t ../.. -s ", {}],
    ["--nonsense nonsense ", {}],
  ])("nothing is offered and nothing said: %s %j", async (line, env) => {
    expect(await cli.run(["__complete", ...line.split(" ")], { env })).toEqual({ status: 0, stdout: "words\n", stderr: "" });
  });

  test("profiles are offered, though the one that counts does not exist", async () => {
    const { stdout } = await cli.run(["__complete", "profile", "use", ""], { env: { HOLDFAST_PROFILE: "nosuch" } });
    expect(stdout).toContain("reviewer\t");
  });

  test("no words at all are no problem, and nothing is made", async () => {
    await using fresh = await createTestCli();
    expect(await fresh.run(["__complete"])).toMatchObject({ status: 0, stderr: "" });
    expect(await fresh.run(["__complete", "exec", "-t", ""])).toEqual({ status: 0, stdout: "words\n", stderr: "" });
    expect(await fresh.run(["__complete", "session", "rm", ""])).toEqual({ status: 0, stdout: "words\n", stderr: "" });
    expect(existsSync(fresh.home)).toBe(false);
  });
});
