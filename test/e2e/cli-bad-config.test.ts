import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, PROGRAM, type TestCli } from "../helpers/cli.ts";

type Case = [what: string, prepare: (cli: TestCli) => Promise<unknown>, message: RegExp];

const config = (text: string | Uint8Array) => (cli: TestCli) => writeFile(join(cli.home, "config.yaml"), text);
const dotenv = (text: string) => (cli: TestCli) => writeFile(join(cli.home, ".env"), text);

const CASES: Case[] = [
  ["a config.yaml that is a directory", (cli) => mkdir(join(cli.home, "config.yaml")), /config\.yaml: it is a directory/],
  ["a config.yaml that leads nowhere", (cli) => symlink("nowhere", join(cli.home, "config.yaml")), /config\.yaml: it is a link to a file/],
  ["a config.yaml that is far too large", config("# long\n".repeat(150_000)), /config\.yaml: it is larger than 1 MB/],
  ["a config.yaml with a tab", config("terminal:\n\ttimeout: 60\n"), /a tab is used as indentation \(.*config\.yaml line 2\)/],
  ["a config.yaml that is not YAML", config("terminal:\n  - [a\n  b: {\n"), /not YAML.*\(.*config\.yaml line \d\)/],
  ["a config.yaml that is not text", config(Buffer.from([0xff, 0xfe, 0x00, 0x80])), /config\.yaml is not UTF-8 text/],
  ["a config.yaml that is a list", config("- a\n- b\n"), /must be a map.*\(.*config\.yaml line 1\)/],
  [
    "an unknown key",
    config("terminal:\n  timeout: 1\n  bakend: local\n"),
    /"terminal\.bakend" \(.*config\.yaml line 3\)\nhint: did you mean "terminal\.backend"/,
  ],
  ["an unknown section", config("terminl:\n  timeout: 1\n"), /"terminl" \(.*config\.yaml line 1\)/],
  [
    "a bad value",
    config("# first\nterminal:\n  timeout: soon\n"),
    /terminal\.timeout must be a number.*not "soon" \(.*config\.yaml line 3\)/,
  ],
  ["a backend without a driver", config("terminal:\n  backend: ssh\n"), /terminal\.backend must be one of .*\nhint: .*no ssh driver/],
  ["a .env with broken quoting", dotenv('A=1\nB="open\n'), /the closing " is missing \(.*\.env line 2\)/],
  ["a .env without an equals sign", dotenv("A=1\nnonsense\n"), /the line has no `=` \(.*\.env line 2\)/],
  ["a bad value in .env", dotenv("TERMINAL_TIMEOUT=soon\n"), /terminal\.timeout must be.*\(TERMINAL_TIMEOUT in .*\.env line 1\)/],
];

describe("bad configuration", () => {
  test.each(CASES)("%s stops exec with 125 and the others with 1, naming the place", async (_, prepare, message) => {
    await using cli = await createTestCli();
    await mkdir(cli.home);
    await prepare(cli);
    const exec = await cli.run(["exec", "--", "touch ran"]);
    expect({ status: exec.status, stdout: exec.stdout }).toEqual({ status: 125, stdout: "" });
    expect(exec.stderr).toMatch(message);
    expect(exec.stderr).toMatch(/^error: [^\n]+\nhint: [^\n]+\n$/);
    for (const args of [["config", "list"], ["sandbox", "ls"], ["doctor"], ["config", "get", "terminal.timeout"]]) {
      expect(await cli.run(args)).toEqual({ status: 1, stdout: "", stderr: exec.stderr });
    }
    const { stderr } = await cli.run(["sandbox", "ls", "--json"]);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: expect.stringMatching(/^config-/) } });
    // What does not need the configuration still works.
    expect(await cli.run(["config", "path"])).toMatchObject({ status: 0 });
    expect(await cli.run(["profile", "list"])).toMatchObject({ status: 0 });
  });

  test("tells how many more problems there are, and all of them with --json", async () => {
    await using cli = await createTestCli();
    await mkdir(cli.home);
    await config("terminal:\n  timeout: soon\n  nonsense: 1\n")(cli);
    expect((await cli.run(["config", "list"])).stderr).toContain("and 1 more problem");
    const { stderr } = await cli.run(["config", "list", "--json"]);
    expect(JSON.parse(stderr).error.facts.problems).toHaveLength(2);
  });

  test.each([["config.yaml"], [".env"]])("an unreadable %s stops exec with 125, in a process without special rights", async (name) => {
    await using cli = await createTestCli();
    await mkdir(cli.home);
    await writeFile(join(cli.home, name), "");
    await chmod(join(cli.home, name), 0o000);
    const program = [...withoutSpecialRights(), process.execPath, PROGRAM];
    const { status, stdout, stderr } = await cli.runProcess(["exec", "--", "true"], { program });
    expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^error: cannot read .*${name}: permission denied\nhint: `));
    expect(await cli.runProcess(["config", "list"], { program })).toMatchObject({ status: 1 });
  });

  test("a misspelt variable gets a word, and the command runs", async () => {
    await using cli = await createTestCli();
    const { status, stdout, stderr } = await cli.run(["exec", "echo", "ran"], { env: { TERMINAL_TIMEOT: "60" } });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "ran\n" });
    expect(stderr).toMatch(/^warning: .*TERMINAL_TIMEOT.*did you mean TERMINAL_TIMEOUT\?\n$/);
  });
});

test("config set by many processes at once loses nothing", async () => {
  await using cli = await createTestCli();
  await mkdir(cli.home);
  await config("# mine\nterminal:\n")(cli);
  const settings = {
    timeout: 11,
    lifetime_seconds: 12,
    output_limit: 13_000,
    container_memory: 14,
    spill_limit_mb: 15,
    container_disk: 16,
  };
  const runs = Object.entries(settings).map(([name, value]) => cli.runProcess(["config", "set", `terminal.${name}`, String(value)]));
  for (const { status, stderr } of await Promise.all(runs))
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining("note: ") });
  const text = await readFile(join(cli.home, "config.yaml"), "utf8");
  expect(text.split("\n").slice(0, 2)).toEqual(["# mine", "terminal:"]);
  expect(text.trimEnd().split("\n").slice(2).sort()).toEqual(
    Object.entries(settings)
      .map(([name, value]) => `  ${name}: ${value}`)
      .sort(),
  );
});

/** Root reads every file unless this right is taken away. */
function withoutSpecialRights(): string[] {
  return process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] : [];
}
