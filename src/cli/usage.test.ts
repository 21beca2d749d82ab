import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../test/helpers/cli.ts";

let cli: TestCli;
beforeAll(async () => {
  cli = await createTestCli();
});
afterAll(() => cli[Symbol.asyncDispose]());

const split = (text: string) => text.split(" ").filter(Boolean);

describe("a mistyped", () => {
  test.each([
    ["verb", "sandbx ls --json", 'holdfast has no verb "sandbx"', 'did you mean "sandbox"?'],
    ["verb behind flags", "-p x --debug confg list", 'holdfast has no verb "confg"', 'did you mean "config"?'],
    ["subverb", "sandbox lst", 'holdfast sandbox has no verb "lst"', 'did you mean "ls"?'],
    ["alias of a subverb", "sandbox remve x", 'holdfast sandbox has no verb "remve"', 'did you mean "remove"?'],
    ["flag", "sandbox ls --jsn", "unknown option '--jsn'", "did you mean --json?"],
    ["shell", "completion fsh", "the shell must be one of bash, fish, zsh", 'did you mean "fish"?'],
  ])("%s gets a suggestion: %s", async (_, line, message, hint) => {
    const { status, stdout, stderr } = await cli.run(split(line));
    const shown = line.includes("--json") ? JSON.parse(stderr).error : undefined;
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(shown?.message ?? stderr).toContain(message);
    expect(shown?.hint ?? stderr).toContain(hint);
  });

  test.each([
    ["key", "config get terminal.timeot", 'did you mean "terminal.timeout"?'],
    ["key of a flag", "config list -c terminal.backed=local", 'did you mean "terminal.backend"?'],
    ["value", "config set terminal.container_limits strct", 'did you mean "strict"?'],
    ["profile", "-p defalt config list", 'did you mean "default"?'],
  ])("%s gets a suggestion: %s", async (_, line, hint) => {
    const { status, stdout, stderr } = await cli.run(split(line));
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^error: [^\n]+\nhint: [^\n]+\n$/);
    expect(stderr).toContain(hint);
  });
});

describe("a line that is not understood", () => {
  test.each([
    ["config get", "missing required argument 'key'", "usage: holdfast config get"],
    ["config get a b", '"b" is too much for holdfast config get', "usage: holdfast config get"],
    ["config get -p", "argument missing", "usage: holdfast config get"],
    ["completion", "missing required argument 'shell'", "usage: holdfast completion"],
    ["--nonsense", "unknown option '--nonsense'", "usage: holdfast"],
    ["sandbox --all ls", "unknown option '--all'", "it belongs behind the verb: holdfast sandbox ls --all"],
    ["--timeout 5 exec true", "unknown option '--timeout'", "usage: holdfast"],
    ["--stdin exec true", "unknown option '--stdin'", "it belongs behind the verb: holdfast exec --stdin"],
    ["config list -c nonsense", "-c needs KEY=VALUE", "`holdfast config list`"],
    ["nosuchverb", 'holdfast has no verb "nosuchverb"', "`holdfast --help`"],
  ])("says so and how it is meant: %s", async (line, message, hint) => {
    const { status, stdout, stderr } = await cli.run(split(line));
    expect({ status, stdout }).toEqual({ status: line.startsWith("--stdin exec") ? 125 : 2, stdout: "" });
    expect(stderr).toMatch(/^error: [^\n]+\nhint: [^\n]+\n$/);
    expect(stderr).toContain(message);
    expect(stderr).toContain(hint);
  });

  test.each([
    ["", "missing required argument 'command'"],
    ["--", "missing required argument 'command'"],
    ["--jsn -- true", "unknown option '--jsn'"],
    ["--timeout 0 -- true", "--timeout needs a number of seconds above 0"],
    ["--timeout 1s -- true", "--timeout needs a number of seconds above 0"],
    ["--env NOT_THERE -- true", "--env NOT_THERE takes the caller's variable"],
    ["--env =x -- true", '"" is not a valid variable name'],
    ["--task", "argument missing"],
    ["-p nosuchprofile -- true", "there is no profile nosuchprofile"],
    ["-c terminal.timeout=never -- true", "terminal.timeout must be"],
  ])("is a failure of our own for exec: %s", async (line, message) => {
    const { status, stdout, stderr } = await cli.run(["exec", ...split(line)]);
    expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
    expect(stderr).toMatch(/^error: [^\n]+\nhint: [^\n]+\n$/);
    expect(stderr).toContain(message);
  });

  test.each([[""], ["  "], ["\n"]])("exec refuses the empty command %j", async (command) => {
    const { status, stderr } = await cli.run(["exec", "--", command]);
    expect(status).toBe(125);
    expect(stderr).toContain("the command is empty");
  });
});

describe("with --json, an error", () => {
  test.each([
    [["exec", "--json", "--nonsense", "--", "true"]],
    [["exec", "--timeout", "no", "--json", "--", "true"]],
    [["exec", "--json"]],
    [["config", "get", "--json"]],
    [["config", "get", "nosuch.key", "--json"]],
    [["sandbox", "rm", "nosuch", "--json"]],
    [["sandbox", "lst", "--json"]],
  ])("is one line of JSON and nothing else: %j", async (args) => {
    const { stdout, stderr } = await cli.run(args);
    expect(stdout).toBe("");
    expect(stderr.split("\n")).toHaveLength(2);
    expect(JSON.parse(stderr).error).toMatchObject({ code: expect.any(String), message: expect.any(String), hint: expect.any(String) });
  });

  test.each([[["exec", "-p", "nosuch", "--", "echo", "--json", "--debug"]], [["exec", "-p", "nosuch", "echo", "--json", "--debug"]]])(
    "is text when the flag is the command's: %j",
    async (args) => {
      const { status, stderr } = await cli.run(args);
      expect(status).toBe(125);
      expect(stderr).toMatch(/^error: there is no profile nosuch\nhint: [^\n]+\n$/);
    },
  );
});

test("--debug shows the stack, and without it there is none", async () => {
  expect((await cli.run(["config", "get", "nosuch.key", "--debug"])).stderr).toContain("at ");
  expect((await cli.run(["config", "get", "nosuch.key"])).stderr).not.toMatch(/^\s+at /m);
});

test("a line that is refused leaves nothing behind", async () => {
  await using fresh = await createTestCli();
  await fresh.run(["sandbx"]);
  await fresh.run(["exec", "--nonsense"]);
  await fresh.run(["exec", "--", " "]);
  await fresh.run(["exec", "--session", "../x", "--", "true"]);
  await fresh.run(["profile", "show", "../x"]);
  expect(existsSync(fresh.home)).toBe(false);
});
