import { mkdir, readdir, realpath, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli } from "../../../test/helpers/cli.ts";

describe("exec", () => {
  test("hands the command's status and streams through", async () => {
    await using cli = await createTestCli();
    expect(await cli.run(["exec", "--", "echo out; echo err >&2; exit 7"])).toEqual({ status: 7, stdout: "out\n", stderr: "err\n" });
    expect(await cli.run(["exec", "--", "kill -9 $$"])).toMatchObject({ status: 137 });
  });

  test("takes one argument as shell text and several as they are", async () => {
    await using cli = await createTestCli();
    expect((await cli.run(["exec", "echo $((1+1)) | tr 2 x"])).stdout).toBe("x\n");
    expect((await cli.run(["exec", "printf", "<%s>", "$HOME", "a b", "", "'"])).stdout).toBe("<$HOME><a b><><'>");
    expect((await cli.run(["exec", "--", "--", "x"])).status).toBe(127);
  });

  test("K3 leaves flags behind the command's first word to the command", async () => {
    await using cli = await createTestCli();
    expect(await cli.run(["exec", "mkdir", "-p", "x/y"])).toMatchObject({ status: 0, stderr: "" });
    expect((await cli.run(["exec", "ls", "-d", "x/y"])).stdout).toBe("x/y\n");
    expect((await cli.run(["exec", "--", "echo", "--json", "-p", "nosuch", "--debug"])).stdout).toBe("--json -p nosuch --debug\n");
  });

  test("takes a command that begins with a dash", async () => {
    await using cli = await createTestCli();
    expect(await cli.run(["exec", "--", "--json"])).toMatchObject({ status: 127, stderr: "bash: line 1: --json: command not found\n" });
  });

  test("S34 keeps an overflow file only for a result that names it", async () => {
    await using cli = await createTestCli();
    const long = "head -c 60000 /dev/zero";
    expect((await cli.run(["exec", "--", long])).stdout).toHaveLength(60_000);
    await expect(readdir(join(cli.home, "output"))).rejects.toThrow("ENOENT");
    const { outputFile } = JSON.parse((await cli.run(["exec", "--json", "--", long])).stdout);
    expect(await readdir(join(cli.home, "output"))).toEqual([basename(outputFile)]);
  });

  test("S48 with persistent_shell: false each call begins anew, and leaves files and processes, but no session", async () => {
    await using cli = await createTestCli();
    const env = { TERMINAL_PERSISTENT_SHELL: "off" };
    const run = (...args: string[]) => cli.run(["exec", ...args], { env });
    expect(await run("export KEPT=1; alias a=b; f() { :; }; cd /; echo note >~/note; pwd")).toMatchObject({ status: 0, stdout: "/\n" });
    const look = 'pwd; echo "[$KEPT]"; type -t f; alias; cat ~/note';
    expect(await run(look)).toEqual({ status: 0, stdout: `${cli.directory}\n[]\nnote\n`, stderr: "" });
    expect(await run("exit 3")).toMatchObject({ status: 3 });
    expect(await cli.json(["session", "ls"], { env })).toEqual([]);
    expect(await run("--session", "mine", 'echo "[$KEPT]"')).toEqual({
      status: 0,
      stdout: "[]\n",
      stderr: "warning: session mine was not used, because terminal.persistent_shell is false\n",
    });
    // What there was before is there again without it.
    expect(await cli.run(["exec", "export KEPT=2"])).toMatchObject({ status: 0 });
    expect((await run('echo "[$KEPT]"')).stdout).toBe("[]\n");
    expect((await cli.run(["exec", 'echo "[$KEPT]"'])).stdout).toBe("[2]\n");
  });

  test("finds directory, variables, functions and aliases again, per session and per task", async () => {
    await using cli = await createTestCli();
    await cli.run(["exec", "--", "mkdir -p sub; cd sub; export COLOUR=red; greet() { echo hi $1; }; alias shout='echo LOUD'"]);
    const look = 'basename "$PWD"; echo "$COLOUR"; greet you; shout';
    expect((await cli.run(["exec", "--", look])).stdout).toBe("sub\nred\nhi you\nLOUD\n");
    expect((await cli.run(["exec", "-s", "other", "--", "echo [$COLOUR]; basename $PWD"])).stdout).toBe("[]\nwork\n");
    expect((await cli.run(["exec", "-t", "other", "--", "echo [$COLOUR]; basename $PWD"])).stdout).toBe("[]\nwork\n");
  });

  test("changes directory and variables for one call only", async () => {
    await using cli = await createTestCli();
    await mkdir(join(cli.directory, "there"));
    const args = ["exec", "--cwd", "there", "--env", "A=1=2", "-e", "TAKEN", "--", 'echo "$A $TAKEN $PWD"'];
    expect((await cli.run(args, { env: { TAKEN: "yes" } })).stdout).toBe(`1=2 yes ${await realpath(join(cli.directory, "there"))}\n`);
    expect((await cli.run(["exec", "--", 'echo "[$A] $(basename "$PWD")"'])).stdout).toBe("[] work\n");
  });

  test.each([["file"], ["missing"]])("refuses a --cwd that is a %s, and the command does not run", async (kind) => {
    await using cli = await createTestCli();
    await writeFile(join(cli.directory, "file"), "");
    const { status, stdout, stderr } = await cli.run(["exec", "--cwd", kind, "--", "echo ran"]);
    expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^error: ${kind} is not a directory in the sandbox, so the command did not run\nhint: [^\n]+\n$`));
  });

  test("refuses a terminal.cwd that is a file", async () => {
    await using cli = await createTestCli();
    await writeFile(join(cli.directory, "file"), "");
    const { status, stderr } = await cli.run(["exec", "-c", "terminal.cwd=file", "--", "echo ran"]);
    expect(status).toBe(125);
    expect(stderr).toContain("is not a directory");
  });

  test("S34 merges both streams in the exact order of writing when asked to", async () => {
    await using cli = await createTestCli();
    const command = "for n in {1..200}; do echo $n; echo $n >&2; done";
    const expected = Array.from({ length: 200 }, (_, index) => `${index + 1}\n${index + 1}\n`).join("");
    expect(await cli.run(["exec", "--merge", "--", command])).toEqual({ status: 0, stdout: expected, stderr: "" });
  });

  test("gives the command no input unless it is asked to", async () => {
    await using cli = await createTestCli();
    expect((await cli.run(["exec", "--", "cat"], { input: "text" })).stdout).toBe("");
    expect((await cli.run(["exec", "--stdin", "--", "cat"], { input: "text" })).stdout).toBe("text");
    expect(await cli.run(["exec", "--stdin", "--", "head -c 2"], { input: "x".repeat(1_000_000) })).toMatchObject({
      stdout: "xx",
      status: 0,
    });
  });

  test("prints one JSON object with --json, and nothing else", async () => {
    await using cli = await createTestCli();
    const { status, stdout, stderr } = await cli.run(["exec", "--json", "-t", "build", "--", "echo out; echo err >&2; exit 4"]);
    expect({ status, stderr }).toEqual({ status: 4, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      profile: "default",
      task: "build",
      session: "default",
      exitCode: 4,
      stdout: "out\n",
      stderr: "err\n",
      timedOut: false,
      truncated: false,
    });
  });

  test("S33 ends with 124 after the timeout and says so", async () => {
    await using cli = await createTestCli();
    const { status, stdout, stderr } = await cli.run(["exec", "--timeout", "0.3", "--", "echo begun; sleep 60"]);
    expect({ status, stdout }).toEqual({ status: 124, stdout: "begun\n" });
    expect(stderr).toMatch(/^note: the command was ended after [\d.]+ s \(timeout\)$/m);
    expect((await cli.run(["exec", "-c", "terminal.timeout=0.3", "--", "sleep 60"])).status).toBe(124);
  });

  test("says when the session's directory was gone", async () => {
    await using cli = await createTestCli();
    await cli.run(["exec", "--", "mkdir -p gone/deep; cd gone/deep"]);
    const { status, stderr } = await cli.run(["exec", "--", "true"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    await cli.run(["exec", "-s", "other", "--", "rm -r gone"]);
    const recovered = await cli.run(["exec", "--", "pwd"]);
    expect(recovered.stderr).toBe(`note: ${cli.directory}/gone/deep no longer exists, so the command ran in ${cli.directory}\n`);
    expect(recovered.stdout).toBe(`${cli.directory}\n`);
  });

  test.each([
    ["task", "two\nlines"],
    ["session", "../x"],
    ["session", "a/b"],
    ["profile", "../x"],
    ["profile", "a/../../b"],
  ])("K1 refuses the %s name %s", async (kind, name) => {
    await using cli = await createTestCli();
    const { status, stdout, stderr } = await cli.run(["exec", `--${kind}`, name, "--", "echo ran"]);
    expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
    expect(stderr).toContain(`error: ${JSON.stringify(name)} is not a valid ${kind} name`);
  });
});
