import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";

async function writeConfig(cli: TestCli, text: string): Promise<string> {
  await mkdir(cli.home, { recursive: true });
  const file = join(cli.home, "config.yaml");
  await writeFile(file, text);
  return file;
}

describe("config get and list", () => {
  test("print values: text as it is, others as JSON, nothing for what is not set", async () => {
    await using cli = await createTestCli();
    expect((await cli.run(["config", "get", "terminal.backend"])).stdout).toBe("local\n");
    expect((await cli.run(["config", "get", "terminal.docker_volumes"])).stdout).toBe("[]\n");
    expect((await cli.run(["config", "get", "terminal.cwd"])).stdout).toBe("");
    expect(await cli.json(["config", "get", "terminal.cwd"])).toEqual({ key: "terminal.cwd", value: null });
  });

  test("--changed lists what differs from the defaults, and from where", async () => {
    await using cli = await createTestCli();
    const file = await writeConfig(cli, "terminal:\n  timeout: 60\n");
    const { stdout } = await cli.run(["config", "list", "--changed", "-c", "terminal.cwd=/tmp"], { env: { TERMINAL_CONTAINER_CPU: "2" } });
    expect(stdout.split("\n").map((line) => line.replaceAll(/ {2,}/g, " | "))).toEqual([
      "KEY | VALUE | FROM",
      "terminal.cwd | /tmp | flag -c",
      `terminal.timeout | 60 | ${file} line 2`,
      "terminal.container_cpu | 2 | environment variable TERMINAL_CONTAINER_CPU",
      "",
    ]);
  });

  test("-c adds up along the line, and the last one of a key counts", async () => {
    await using cli = await createTestCli();
    const args = ["-c", "terminal.timeout=1", "config", "-c", "terminal.cwd=/a", "list", "--changed", "-c", "terminal.timeout=2", "--json"];
    const entries = JSON.parse((await cli.run(args)).stdout) as { key: string; value: unknown }[];
    expect(Object.fromEntries(entries.map(({ key, value }) => [key, value]))).toEqual({ "terminal.cwd": "/a", "terminal.timeout": 2 });
  });
});

describe("config set and unset", () => {
  test("change config.yaml in place and say so", async () => {
    await using cli = await createTestCli();
    const file = await writeConfig(cli, "# mine\nterminal:\n  timeout: 60 # short\n");
    expect(await cli.run(["config", "set", "terminal.timeout", "90"])).toEqual({
      status: 0,
      stdout: "",
      stderr: `note: terminal.timeout is set in ${file}\n`,
    });
    expect(await readFile(file, "utf8")).toBe("# mine\nterminal:\n  timeout: 90 # short\n");
    expect((await cli.run(["config", "set", "terminal.timeout", "90"])).stderr).toBe(`note: ${file} already says so\n`);
    expect(await cli.json(["config", "unset", "terminal.timeout"])).toEqual({ key: "terminal.timeout", file, changed: true });
    expect((await cli.run(["config", "unset", "terminal.timeout"])).stderr).toBe(`note: terminal.timeout was not set in ${file}\n`);
    expect(await cli.run(["config", "set", "terminal.container_cpu", "-1"])).toMatchObject({ status: 1 });
  });

  test("K4 refuse a length of time that is none, and say where a file has one; show and diagnostics tell that the profile cannot work", async () => {
    await using cli = await createTestCli();
    const file = await writeConfig(cli, "worker:\n  command: [sh]\n");
    expect(await cli.run(["config", "set", "worker.max_runtime", "forever"])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/worker\.max_runtime must be a length of time.*"forever"/),
    });
    expect(await cli.run(["config", "set", "worker.max_runtime", "30m"])).toMatchObject({ status: 0 });
    await writeFile(file, "worker:\n  command: [sh]\n  max_runtime: forever\n");
    expect((await cli.run(["config", "get", "worker.command"])).stderr).toContain(`${file} line 3`);
    await cli.run(["profile", "create", "writer"], { env: { HOLDFAST_PROFILE: undefined } });
    await rm(file);
    await writeFile(join(cli.home, "profiles/writer/config.yaml"), "worker:\n  command: [sh]\n  max_runtime: forever\n");
    const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "x", "--assignee", "writer"]);
    expect((await cli.json<{ why: object[] }>(["kanban", "show", task.id])).why).toContainEqual(
      expect.objectContaining({ kind: "profile-unreadable", profile: "writer" }),
    );
    expect(await cli.json(["kanban", "diagnostics"])).toContainEqual(expect.objectContaining({ rule: "profile-broken" }));
  });

  test("K15 warn of a cap that is none, and of settings of the boards in a profile where they have no effect; so does doctor", async () => {
    await using cli = await createTestCli();
    for (const value of ["lots", "0", "-1", "2.5"]) {
      const { status, stderr } = await cli.run(["config", "set", "kanban.max_spawn", "--", value]);
      expect({ status, stderr }).toMatchObject({
        status: 0,
        stderr: expect.stringContaining(`kanban.max_spawn is "${value}", not a whole`),
      });
    }
    expect((await cli.run(["doctor"])).stdout).toContain("kanban.max_spawn is");
    expect((await cli.run(["config", "set", "kanban.max_spawn", "3"])).stderr).not.toContain("warning");
    expect((await cli.run(["config", "set", "kanban.review_dispatch", "false"])).stderr).not.toContain("warning");
    await cli.run(["profile", "create", "writer"]);
    const { stderr } = await cli.run(["config", "set", "kanban.max_spawn", "3", "-p", "writer"]);
    expect(stderr).toContain("warning: kanban.max_spawn in the configuration of writer has no effect");
    expect((await cli.run(["doctor", "-p", "writer"])).stdout).toContain("kanban.max_spawn in the configuration of writer has no effect");
    expect((await cli.run(["doctor"])).stdout).not.toContain("kanban.");
  });

  test("warn when another source hides what was set", async () => {
    await using cli = await createTestCli();
    const { status, stderr } = await cli.run(["config", "set", "terminal.timeout", "90"], { env: { TERMINAL_TIMEOUT: "5" } });
    expect(status).toBe(0);
    expect(stderr).toContain("warning: it has no effect here, because environment variable TERMINAL_TIMEOUT decides\n");
    expect((await cli.run(["config", "set", "terminal.timeout", "91"])).stderr).not.toContain("warning");
  });
});

describe("config explain and path", () => {
  test("explain shows the source and what it hides", async () => {
    await using cli = await createTestCli();
    const file = await writeConfig(cli, "terminal:\n  timeout: 60\n");
    const { stdout } = await cli.run(["config", "explain", "terminal.timeout"], { env: { TERMINAL_TIMEOUT: "5" } });
    expect(stdout).toContain("value: 5\nfrom: environment variable TERMINAL_TIMEOUT\n");
    expect(stdout).toContain(`hides: 60 (${file} line 2)\nhides: 180 (default)\n`);
  });

  test("path works when the file is broken", async () => {
    await using cli = await createTestCli();
    const file = await writeConfig(cli, "\t- broken: [\n");
    expect(await cli.run(["config", "path"])).toEqual({ status: 0, stdout: `${file}\n`, stderr: "" });
    expect(await cli.json(["config", "path"])).toEqual({ config: file, env: join(cli.home, ".env") });
  });
});

describe("config edit", () => {
  /** Left-over copies of ours. */
  const copies = async () => (await readdir(tmpdir())).filter((name) => name.startsWith("holdfast-config-"));
  const editor = async (cli: TestCli, script: string) => {
    const path = join(cli.directory, "my editor");
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return `'${path}'`;
  };

  test("saves what passes the checks, with VISUAL before EDITOR, and leaves no copy", async () => {
    await using cli = await createTestCli();
    const before = await copies();
    const file = await writeConfig(cli, "# mine\nterminal:\n  timeout: 60\n");
    await chmod(file, 0o640);
    const env = { VISUAL: await editor(cli, 'sed -i s/60/90/ "$1"'), EDITOR: "false" };
    expect(await cli.run(["config", "edit"], { env })).toEqual({ status: 0, stdout: "", stderr: "note: config.yaml is saved\n" });
    expect(await readFile(file, "utf8")).toBe("# mine\nterminal:\n  timeout: 90\n");
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect(await copies()).toEqual(before);
  });

  test("begins with a file that says what it is for, and saves nothing when nothing was changed", async () => {
    await using cli = await createTestCli();
    expect((await cli.run(["config", "edit"], { env: { EDITOR: "true" } })).stderr).toBe("note: nothing was changed\n");
    await expect(stat(join(cli.home, "config.yaml"))).rejects.toThrow("ENOENT");
    await cli.run(["config", "edit"], { env: { EDITOR: await editor(cli, 'echo "  timeout: 5" >> "$1"') } });
    expect(await readFile(join(cli.home, "config.yaml"), "utf8")).toMatch(/^# .*\nterminal:\n {2}timeout: 5\n$/);
  });

  test("follows a link and keeps it", async () => {
    await using cli = await createTestCli();
    await mkdir(cli.home);
    await writeFile(join(cli.directory, "shared.yaml"), "terminal:\n  timeout: 60\n");
    await symlink(join(cli.directory, "shared.yaml"), join(cli.home, "config.yaml"));
    await cli.run(["config", "edit"], { env: { EDITOR: await editor(cli, 'sed -i s/60/90/ "$1"') } });
    expect(await readFile(join(cli.directory, "shared.yaml"), "utf8")).toContain("90");
  });

  test.each([
    ["a bad value", "terminal:\n  timeout: soon\n", "terminal.timeout must be"],
    ["an unknown key", "terminal:\n  timeot: 1\n", 'there is no configuration key "terminal.timeot"'],
    ["a tab", "terminal:\n\ttimeout: 1\n", "a tab is used as indentation"],
  ])("refuses %s, keeps the file as it was and the user's version aside", async (_, text, message) => {
    await using cli = await createTestCli();
    const file = await writeConfig(cli, "terminal:\n  timeout: 60\n");
    await writeFile(join(cli.directory, "new"), text);
    const { status, stderr } = await cli.run(["config", "edit"], { env: { EDITOR: `cp '${cli.directory}/new'` } });
    expect(status).toBe(1);
    expect(stderr).toContain(message);
    expect(stderr).toContain("line 2");
    const [, copy = ""] = /your version is kept in (\S+):/.exec(stderr) ?? [];
    expect(await readFile(copy, "utf8")).toBe(text);
    await rm(dirname(copy), { recursive: true });
    expect(await readFile(file, "utf8")).toBe("terminal:\n  timeout: 60\n");
  });

  test("offers a person another try", async () => {
    await using cli = await createTestCli();
    const file = await writeConfig(cli, "terminal:\n  timeout: 60\n");
    const env = { EDITOR: await editor(cli, 'if grep -q soon "$1"; then sed -i s/soon/5/ "$1"; else sed -i s/60/soon/ "$1"; fi') };
    const { status, stderr } = await cli.run(["config", "edit"], { env, tty: true, input: "y\n" });
    expect(status).toBe(0);
    expect(stderr).toContain("Edit again? [Y/n]");
    expect(await readFile(file, "utf8")).toBe("terminal:\n  timeout: 5\n");
  });

  test("does not overwrite what somebody else saved meanwhile", async () => {
    await using cli = await createTestCli();
    const file = await writeConfig(cli, "terminal:\n  timeout: 60\n");
    const env = { EDITOR: await editor(cli, `printf 'terminal:\\n  timeout: 7\\n' > '${file}'; sed -i s/60/90/ "$1"`) };
    const { status, stderr } = await cli.run(["config", "edit"], { env, tty: true, input: "y\n" });
    expect(status).toBe(1);
    expect(stderr).toContain("was changed by another process meanwhile");
    const [, copy = ""] = /your version is kept in (\S+):/.exec(stderr) ?? [];
    await rm(dirname(copy), { recursive: true });
    expect(await readFile(file, "utf8")).toBe("terminal:\n  timeout: 7\n");
  });

  test.each([
    ["false", "the editor false ended with status 1"],
    ["nosuch-editor", "the editor nosuch-editor ended with status 127"],
  ])("fails when the editor does: %s", async (name, message) => {
    await using cli = await createTestCli();
    const before = await copies();
    const { status, stderr } = await cli.run(["config", "edit"], { env: { EDITOR: name } });
    expect(status).toBe(1);
    expect(stderr).toContain(message);
    expect(await copies()).toEqual(before);
  });
});

describe("config import-hermes", () => {
  const HERMES = [
    ...["agent: { max_turns: 5 }", "model:", "  default: tiny", "terminal:", "  env_type: docker", "  timeout: 60"],
    ...[
      "  docker_shm_size: 1g",
      "  docker_forward_env: [GOOD, 'BAD NAME']",
      "  docker_volumes: nonsense",
      "  nosuch: 1",
      "kanban:",
      "  failure_limit: 4",
      "",
    ],
  ].join("\n");
  const ENV = "TERMINAL_CONTAINER_CPU=2\nTERMINAL_TIMEOUT=99\nTERMINAL_TEMP_DIR=/x\nOPENROUTER_API_KEY=sk-very-secret\n";

  test("S48 says line by line what it took and what not, without a value, and what was set before stays", async () => {
    await using cli = await createTestCli();
    const theirs = join(cli.env.HOME ?? "", ".hermes");
    await mkdir(theirs, { recursive: true });
    await writeFile(join(theirs, "config.yaml"), HERMES);
    await writeFile(join(theirs, ".env"), ENV);
    const file = await writeConfig(cli, "# mine\nterminal:\n  timeout: 7\n");
    const { status, stdout, stderr } = await cli.run(["config", "import-hermes"]);
    expect({ status, lines: stdout.trimEnd().split("\n"), stderr }).toEqual({
      status: 0,
      stderr: `note: 5 settings are in ${file} now\n`,
      lines: [
        `took terminal.backend from ${theirs}/config.yaml line 5`,
        `took terminal.container_cpu from TERMINAL_CONTAINER_CPU in ${theirs}/.env line 1`,
        `took terminal.docker_forward_env from ${theirs}/config.yaml line 8`,
        `took kanban.failure_limit from ${theirs}/config.yaml line 12`,
        `took model.name from ${theirs}/config.yaml line 3`,
        `left terminal.timeout is set here already (${file} line 3), so that of ${theirs}/config.yaml line 6 was not taken`,
        expect.stringMatching(/^left terminal\.docker_shm_size has no effect in Holdfast: .*config\.yaml line 7\)$/),
        expect.stringMatching(/^left terminal\.docker_forward_env: "BAD NAME" is not a valid name/),
        expect.stringMatching(/^left agent in .* is no section of Holdfast/),
        expect.stringMatching(/^left TERMINAL_TEMP_DIR has no effect in Holdfast/),
        expect.stringMatching(/^left terminal\.docker_volumes must be .*config\.yaml line 9\)/),
        expect.stringMatching(/^left there is no configuration key "terminal\.nosuch"/),
        `left OPENROUTER_API_KEY: no settings, so copy what you need into ${join(cli.home, ".env")}`,
      ],
    });
    expect(await readFile(file, "utf8")).toMatch(/^# mine\nterminal:\n {2}timeout: 7\n/);
    expect(await cli.json(["config", "get", "terminal.backend"])).toMatchObject({ value: "docker" });
    expect(await cli.json(["config", "get", "model.name"])).toMatchObject({ value: "tiny" });
    expect(await cli.json(["config", "import-hermes", theirs])).toMatchObject({ taken: [] });
    expect(await readFile(join(cli.home, "config.yaml"), "utf8")).not.toContain("secret");
  });

  test("S48 takes what Hermes can be read of, and says so when there is none", async () => {
    await using cli = await createTestCli();
    expect(await cli.run(["config", "import-hermes", "nowhere"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`there is no config.yaml and no .env in ${join(cli.directory, "nowhere")}`),
    });
    await writeFile(join(cli.directory, "config.yaml"), "terminal: [\n");
    await writeFile(join(cli.directory, ".env"), "TERMINAL_ENV=docker\nbroken\n");
    const { status, stdout } = await cli.run(["config", "import-hermes", "."]);
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^took terminal\.backend from TERMINAL_ENV in .*\.env line 1\nleft this is not YAML.*\n(?:left .*\n)*left the line has no `=`/,
    );
  });
});
