import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, PROGRAM, type TestCli } from "../../../test/helpers/cli.ts";

const home = (cli: TestCli, name: string) => join(cli.home, "profiles", name);

async function cliWith(...names: string[]): Promise<TestCli> {
  const cli = await createTestCli();
  for (const name of names) await cli.run(["profile", "create", name]);
  return cli;
}

describe("profile describe", () => {
  test("K2 sets, prints and clears what list and show tell", async () => {
    await using cli = await cliWith("one");
    expect((await cli.run(["profile", "describe", "one"])).stderr).toBe("note: profile one has no description\n");
    expect(await cli.run(["profile", "describe", " ONE ", "reads a lot"])).toMatchObject({
      status: 0,
      stderr: "note: profile one is described\n",
    });
    expect(await cli.run(["profile", "describe", "one"])).toMatchObject({ status: 0, stdout: "reads a lot\n" });
    expect((await cli.run(["profile", "list"])).stdout).toContain("reads a lot");
    expect((await cli.run(["profile", "show", "one"])).stdout).toContain("description: reads a lot\n");
    expect(await cli.json(["profile", "create", "two", "--clone-from", "one"])).toMatchObject({ leftOut: [] });
    expect(await cli.json(["profile", "describe", "two"])).toEqual({ name: "two", description: "reads a lot" });
    expect(await cli.json(["profile", "describe", "one", "--clear"])).toEqual({ name: "one", description: null });
    expect(await cli.run(["profile", "describe", "one", "x", "--clear"])).toMatchObject({ status: 2 });
    expect(await cli.run(["profile", "describe", "one", ""])).toMatchObject({ status: 1, stderr: expect.stringContaining("--clear") });
  });

  test("K2 a damaged description hides no profile", async () => {
    await using cli = await cliWith("one");
    await writeFile(join(home(cli, "one"), "profile.json"), "{");
    const { status, stdout, stderr } = await cli.run(["profile", "list"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining("profile.json does not hold the description") });
    expect(stdout).toContain("one");
  });
});

describe("profile create --clone-from", () => {
  test("K2 leaves credentials in config.yaml behind, and says so", async () => {
    await using cli = await cliWith("one");
    await writeFile(
      join(home(cli, "one"), "config.yaml"),
      "terminal:\n  timeout: 7\n  docker_env: {DEBUG: '1', TELEGRAM_BOT_TOKEN: abc}\n",
    );
    const { status, stderr } = await cli.run(["profile", "create", "two", "--clone-from", "one"]);
    expect(status).toBe(0);
    expect(stderr).toContain("warning: not taken over: config.yaml: terminal.docker_env.TELEGRAM_BOT_TOKEN, because it is a secret\n");
    expect(await readFile(join(home(cli, "two"), "config.yaml"), "utf8")).toBe('terminal:\n  timeout: 7\n  docker_env: {"DEBUG": "1"}\n');
  });
});

describe("profile rename", () => {
  test("K2 renames, with the sticky choice, and refuses default, taken and unknown names", async () => {
    await using cli = await cliWith("one", "taken");
    await cli.run(["profile", "use", "one"]);
    for (const [from, to, words] of [
      ["default", "x", "default cannot be renamed"],
      ["one", "taken", "already a profile taken"],
      ["one", "default", "already a profile default"],
      ["oen", "x", 'did you mean "one"?'],
    ] as const)
      expect(await cli.run(["profile", "rename", from, to])).toMatchObject({ status: 1, stderr: expect.stringContaining(words) });
    const { status, stderr } = await cli.run(["profile", "rename", "one", " Two "]);
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: `note: profile one is now two, in ${home(cli, "two")}\nnote: it is still the choice of \`holdfast profile use\`\n`,
    });
    expect(await cli.json(["profile", "show"])).toMatchObject({ name: "two", chosenBy: "use" });
  });

  test("K2 sandboxes on the host that are only files follow, with their sessions", async () => {
    await using cli = await cliWith("one");
    await cli.run(["exec", "-p", "one", "-t", "build", "--", "export A=1; cd /tmp"]);
    const result = await cli.json(["profile", "rename", "one", "two"]);
    expect(result).toMatchObject({ from: "one", name: "two", followed: ["build"], removed: [], sticky: false, reassigned: 0 });
    expect((await cli.run(["exec", "-p", "two", "-t", "build", "--", "echo $A in $PWD"])).stdout).toBe("1 in /tmp\n");
    expect(await cli.json(["sandbox", "ls", "-p", "two"])).toMatchObject([{ task: "build", profile: "two" }]);
    await cli.run(["sandbox", "rm", "build", "-p", "two"]);
  });

  test("K2 a rename that fails at its end gives the sandboxes back", async () => {
    await using cli = await cliWith("one");
    await cli.run(["exec", "-p", "one", "-t", "build", "--", "export A=1"]);
    await writeFile(home(cli, "two"), "in the way");
    const { status, stderr } = await cli.run(["profile", "rename", "one", "two"]);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining("cannot rename profile one to two") });
    expect((await cli.run(["exec", "-p", "one", "-t", "build", "--", "echo $A"])).stdout).toBe("1\n");
    await cli.run(["sandbox", "rm", "build", "-p", "one"]);
  });

  test("K2 sandboxes outside of the home cannot follow; --remove-sandboxes removes them", async () => {
    await using cli = await cliWith("one");
    await cli.run(["config", "set", "terminal.sandbox_dir", join(cli.directory, "elsewhere"), "-p", "one"]);
    await cli.run(["exec", "-p", "one", "-t", "build", "true"]);
    const refused = await cli.run(["profile", "rename", "one", "two"]);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(/was not renamed: its sandbox for task build .* cannot follow\nhint: .*--remove-sandboxes/);
    expect(await cli.json(["profile", "rename", "one", "two", "--remove-sandboxes"])).toMatchObject({ followed: [], removed: ["build"] });
    expect(await cli.json(["sandbox", "ls", "-p", "two"])).toEqual([]);
  });

  test("K2 settings of the boards that still say the old name are told, and no others", async () => {
    await using cli = await cliWith("one");
    await cli.run(["config", "set", "kanban.default_assignee", "One"]);
    await cli.run(["config", "set", "kanban.dispatch_profiles", "default, one"]);
    await cli.run(["config", "set", "kanban.orchestrator_profile", "default"]);
    const { status, stderr } = await cli.run(["profile", "rename", "one", "two", "-p", "one"]);
    expect(status).toBe(0);
    expect(stderr).toContain("warning: kanban.default_assignee still says one; change it with `holdfast config set");
    expect(stderr).toContain("warning: kanban.dispatch_profiles still says one");
    expect(stderr).not.toContain("orchestrator_profile");
    const { task } = (await cli.json(["kanban", "create", "a task", "--assignee", "two"])) as { task: { id: string } };
    expect(await cli.json(["profile", "rename", "two", "three"])).toMatchObject({ stillNamed: [], reassigned: 1 });
    expect(await cli.json(["kanban", "show", task.id])).toMatchObject({ task: { assignee: "three" } });
  });

  test("K3 HOLDFAST_PROFILE that still has the old name is told", async () => {
    await using cli = await cliWith("one");
    const { stderr } = await cli.run(["profile", "rename", "one", "two"], { env: { HOLDFAST_PROFILE: "one" } });
    expect(stderr).toContain("warning: HOLDFAST_PROFILE still says one");
  });
});

describe("profile delete", () => {
  test("K2 asks for the name, and takes nothing else for it", async () => {
    await using cli = await cliWith("one");
    await cli.run(["exec", "-p", "one", "-t", "build", "true"]);
    for (const input of ["\n", "y\n", "two\n", ""])
      expect(await cli.run(["profile", "delete", "one"], { tty: true, input })).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/its sandboxes \(build\).*was not deleted/s),
      });
    expect(await cli.run(["profile", "delete", "one"], { tty: true, input: "one\n" })).toMatchObject({
      status: 0,
      stderr: expect.stringContaining("profile one is gone"),
    });
    expect(await readdir(join(cli.home, "profiles"))).toEqual([]);
  });

  test("K2 tells how many unfinished tasks are assigned to it, before it asks and after", async () => {
    await using cli = await cliWith("one");
    const make = async () => (await cli.run(["kanban", "create", "x", "--assignee", "one"])).stdout.trim();
    const ids = [await make(), await make(), await make()];
    await cli.run(["kanban", "complete", ids[2] ?? ""]);
    const told = `2 unfinished tasks are assigned to profile one: ${ids[0]}, ${ids[1]};`;
    expect((await cli.run(["profile", "delete", "one"], { tty: true, input: "no\n" })).stderr).toContain(told);
    expect(await cli.run(["profile", "delete", "one", "--confirm", "one"])).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(told),
    });
  });

  test("K2 of many unfinished tasks it names the first, and a command that gives all of them to another", async () => {
    await using cli = await cliWith("one", "two");
    const ids: string[] = [];
    for (const _ of Array(8)) ids.push((await cli.run(["kanban", "create", "x", "--assignee", "one"])).stdout.trim());
    const finished = ids.pop() ?? "";
    await cli.run(["kanban", "complete", finished]);
    const { stderr } = await cli.run(["profile", "delete", "one", "--confirm", "one"]);
    expect(stderr).toContain(`7 unfinished tasks are assigned to profile one: ${ids.slice(0, 5).join(", ")} and 2 more;`);
    const [, command = ""] = /to another: (.*)$/m.exec(stderr) ?? [];
    const holdfast = `holdfast() { '${process.execPath}' '${PROGRAM}' "$@"; }; export -f holdfast`;
    const script = command.replace("xargs -I ID holdfast", "xargs -I ID bash -c 'holdfast \"$@\"' -").replace("PROFILE", "two");
    execFileSync("bash", ["-c", `${holdfast}; ${script}`], { env: cli.env, stdio: "pipe" });
    const { tasks } = await cli.json<{ tasks: { id: string; assignee: string }[] }>(["kanban", "list"]);
    expect(Object.fromEntries(tasks.map(({ id, assignee }) => [id, assignee]))).toEqual({
      ...Object.fromEntries(ids.map((id) => [id, "two"])),
      [finished]: "one",
    });
  });

  test("K2 K18 names the tasks whose work it ends, before it asks and after", async () => {
    await using cli = await cliWith("one");
    const id = (await cli.run(["kanban", "create", "x", "--assignee", "one"])).stdout.trim();
    await cli.run(["kanban", "claim", id, "-p", "one"]);
    const kept = await cli.run(["profile", "delete", "one"], { tty: true, input: "no\n" });
    expect(kept.stderr).toContain(`1 task is being worked on under profile one, and that would be ended: ${id}\n`);
    const { status, stderr } = await cli.run(["profile", "delete", "one", "--confirm", "one"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining(`note: the work on this task was ended: ${id}\n`) });
    expect(stderr).toContain(`\`holdfast kanban assign ${id} PROFILE\` gives it to another`);
    expect(await cli.json(["kanban", "show", id])).toMatchObject({ task: { status: "ready" } });
  });

  test("K2 without a person it needs --confirm with the same name", async () => {
    await using cli = await cliWith("one", "two");
    expect(await cli.run(["profile", "delete", "one"])).toMatchObject({ status: 2, stderr: expect.stringContaining("--confirm one") });
    expect(await cli.run(["profile", "delete", "one", "--confirm", "two"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("twice"),
    });
    expect(await cli.json(["profile", "delete", "one", "--confirm", " One "])).toEqual({
      ...{ name: "one", home: home(cli, "one"), ended: [], sandboxes: [], left: [], wasSticky: false, assigned: [] },
    });
    expect(await readdir(join(cli.home, "profiles"))).toEqual(["two"]);
  });

  test("K2 never default, never what a link leads to", async () => {
    await using cli = await cliWith("one");
    await mkdir(join(cli.directory, "precious"));
    await symlink(join(cli.directory, "precious"), home(cli, "linked"));
    expect(await cli.run(["profile", "delete", "default", "--confirm", "default"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("cannot be deleted"),
    });
    expect(await cli.run(["profile", "delete", "linked", "--confirm", "linked"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is a link"),
    });
    expect(await readdir(cli.directory)).toEqual(["precious"]);
  });

  test("K2 K3 the sticky choice falls back to default, and that is said", async () => {
    await using cli = await cliWith("one");
    await cli.run(["profile", "use", "one"]);
    const { status, stderr } = await cli.run(["profile", "rm", "one", "--confirm", "one"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining("from now on default counts") });
    expect(await cli.json(["profile", "show"])).toMatchObject({ name: "default", chosenBy: "default" });
    // Nothing has made its home again.
    expect(await readdir(join(cli.home, "profiles"))).toEqual([]);
  });

  test("K2 with a broken configuration its sandboxes cannot be known, so it takes --force", async () => {
    await using cli = await cliWith("one");
    await writeFile(join(home(cli, "one"), "config.yaml"), "terminal: [\n");
    const refused = await cli.run(["profile", "delete", "one", "--confirm", "one"]);
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/cannot be known: .*not YAML.*\nhint: .*--force/) });
    const { status, stderr } = await cli.run(["profile", "delete", "one", "--confirm", "one", "--force"]);
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringContaining("warning: left behind: its sandboxes, if it has any"),
    });
  });
});

describe("profile export and import", () => {
  async function exported(cli: TestCli): Promise<string> {
    const file = join(cli.directory, "one.tar.gz");
    await mkdir(join(home(cli, "one"), "skills"));
    await writeFile(join(home(cli, "one"), "skills/a.md"), "how to\n");
    await writeFile(join(home(cli, "one"), "skills/b.md"), "the key is opensesame123\n");
    await writeFile(join(home(cli, "one"), "SOUL.md"), "be kind\n");
    await writeFile(join(home(cli, "one"), ".env"), "GITEA_TOKEN=opensesame123\nTERMINAL_TIMEOUT=9\n");
    await writeFile(join(home(cli, "one"), "config.yaml"), "terminal:\n  timeout: 7\n  docker_env: {HF_TOKEN: hidden}\n");
    await cli.run(["profile", "describe", "one", "reads"]);
    await cli.run(["exec", "-p", "one", "true"]);
    const result = await cli.json<{ leftOut: { path: string }[] }>(["profile", "export", "one", "-o", file]);
    expect(result).toMatchObject({ name: "one", file, files: ["config.yaml", "SOUL.md", "profile.json", "skills/a.md", ".env.example"] });
    expect(result.leftOut.map(({ path }) => path).sort()).toEqual(["config.yaml: terminal.docker_env.HF_TOKEN", "skills/b.md"]);
    return file;
  }

  test("K2 an export holds settings, soul, description, skills and the names of secrets, and no secret", async () => {
    await using cli = await cliWith("one");
    const file = await exported(cli);
    const tar = (...args: string[]) => execFileSync("tar", args, { encoding: "utf8" });
    expect(tar("-tzf", file).trim().split("\n")).toEqual(
      ["config.yaml", "SOUL.md", "profile.json", "skills/a.md", ".env.example"].map((path) => `one/${path}`),
    );
    const all = tar("-xzOf", file);
    for (const secret of ["opensesame123", "hidden", "=9"]) expect(all).not.toContain(secret);
    expect(all).toContain("GITEA_TOKEN=\n");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await cli.run(["profile", "export", "one", "-o", file])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("--force"),
    });
    expect(await cli.run(["profile", "export", "one", "-o", file, "--force"])).toMatchObject({ status: 0 });
    expect(await cli.run(["profile", "export", "one", "-o", join(file, "x")])).toMatchObject({ status: 1 });
    await cli.run(["sandbox", "rm", "default", "-p", "one"]);
  });

  test("K2 an import makes the profile anew, with an empty private .env", async () => {
    await using cli = await cliWith("one");
    const file = await exported(cli);
    expect(await cli.run(["profile", "import", file])).toMatchObject({ status: 1, stderr: expect.stringContaining("--name") });
    const { status, stderr } = await cli.run(["profile", "import", file, "--name", " Two "]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining(`profile two is in ${home(cli, "two")}`) });
    expect(stderr).toContain("it sets terminal.timeout; look at them");
    expect((await readdir(home(cli, "two"))).sort()).toEqual([".env", ".env.example", "SOUL.md", "config.yaml", "profile.json", "skills"]);
    expect((await stat(join(home(cli, "two"), ".env"))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(home(cli, "two"), ".env"), "utf8")).not.toContain("TOKEN");
    expect(await cli.json(["config", "get", "terminal.timeout", "-p", "two"])).toMatchObject({ value: 7 });
    expect(await cli.json(["profile", "describe", "two"])).toMatchObject({ description: "reads" });
    await cli.run(["sandbox", "rm", "default", "-p", "one"]);
  });

  test("K2 a config.yaml that the loader refuses refuses the import, in the loader's words", async () => {
    await using cli = await cliWith();
    await mkdir(join(cli.directory, "bad"));
    const file = join(cli.directory, "bad.tar.gz");
    for (const [text, words] of [
      ["terminal: [", /this is not YAML/],
      ["terminal:\n  timeuot: 7\n", /no configuration key "terminal\.timeuot" \(.*bad\.tar\.gz line 2\)\nhint: did you mean/],
      ["terminal:\n  timeout: soon\n", /terminal\.timeout must be/],
    ] as const) {
      await writeFile(join(cli.directory, "bad/config.yaml"), text);
      execFileSync("tar", ["-czf", file, "-C", cli.directory, "bad"]);
      expect(await cli.run(["profile", "import", file])).toMatchObject({ status: 1, stderr: expect.stringMatching(words) });
    }
    await writeFile(join(cli.directory, "bad/config.yaml"), "terminal:\n");
    await writeFile(join(cli.directory, "bad/.env"), "A=1\n");
    execFileSync("tar", ["-czf", file, "-C", cli.directory, "bad"]);
    for (const name of ["../x", "a/b", ""]) expect(await cli.run(["profile", "import", file, "--name", name])).toMatchObject({ status: 1 });
    expect((await cli.json<unknown[]>(["profile", "list"])).length).toBe(1);
    expect((await cli.run(["profile", "import", file])).stderr).toContain("warning: left out of the archive: .env, because");
    expect(await readFile(join(home(cli, "bad"), ".env"), "utf8")).not.toContain("A=1");
  });

  test("K2 what is no archive is refused, and a pipe is not waited for", async () => {
    await using cli = await cliWith();
    execFileSync("mkfifo", [join(cli.directory, "pipe")]);
    await writeFile(join(cli.directory, "text"), "hello");
    for (const name of ["pipe", "text", "nosuch", "."])
      expect(await cli.run(["profile", "import", join(cli.directory, name)])).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/^error: .*\nhint: /),
      });
    expect(await cli.json(["profile", "list"])).toHaveLength(1);
  });

  test("K2 an export to standard output is the archive and nothing else", async () => {
    await using cli = await cliWith("one");
    const { status, bytes } = await cli.runProcess(["profile", "export", "one", "-o", "-"]);
    expect(status).toBe(0);
    await writeFile(join(cli.directory, "x.tgz"), bytes);
    expect(await cli.json(["profile", "import", join(cli.directory, "x.tgz"), "--name", "two"])).toMatchObject({ name: "two" });
    expect(await cli.run(["profile", "export", "one", "-o", "-", "--json"])).toMatchObject({ status: 2 });
  });
});

test("K1 a .env that others may read is told by profile show and doctor", async () => {
  await using cli = await cliWith("one");
  expect((await cli.run(["profile", "show", "one"])).stderr).toBe("");
  await chmod(join(home(cli, "one"), ".env"), 0o644);
  expect((await cli.run(["profile", "show", "one"])).stderr).toMatch(/^warning: other users .*\.env \(mode 644\).*chmod 600/);
  expect(await cli.json(["profile", "show", "one"])).toMatchObject({ warnings: [expect.stringContaining("mode 644")] });
  expect((await cli.run(["doctor", "-p", "one"])).stdout).toContain("(mode 644)");
});

test.each([
  [["-p", "one", "profile", "describe", "default", "x"]],
  [["profile", "-p", "one", "rename", "two", "three"]],
  [["profile", "delete", "-p", "one", "two", "--confirm", "two"]],
  [["profile", "delete", "two", "--confirm=two", "-pone"]],
  [["profile", "export", "--profile=one", "two", "-o", "-"]],
])("K3 the profile may be given anywhere on the line of the other verbs, too: %j", async (args) => {
  await using cli = await cliWith("one", "two");
  // A choice that counts less, and would fail.
  expect(await cli.run(args, { env: { HOLDFAST_PROFILE: "nosuch" } })).toMatchObject({ status: 0 });
  expect(await cli.run(args.map((word) => word.replace(/^(-p|--profile=)?one$/, "$1nosuch")))).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("there is no profile nosuch"),
  });
});

test("K1 the sticky file and HOLDFAST_PROFILE cannot lead out of the directory", async () => {
  await using cli = await cliWith("one");
  for (const name of ["../one", "/etc", "one/../../x", ".."]) {
    expect(await cli.run(["profile", "show"], { env: { HOLDFAST_PROFILE: name } })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("not a valid profile name"),
    });
    await writeFile(join(cli.home, "active-profile"), `${name}\n`);
    expect(await cli.run(["profile", "show"])).toMatchObject({ status: 1, stderr: expect.stringContaining("not a valid profile name") });
  }
});
