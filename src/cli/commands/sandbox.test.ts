import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";

interface Summary {
  task: string;
  profile: string;
  id: string;
}

interface Everywhere {
  sandboxes: Summary[];
  unlisted: { profile: string; backend: string | null; reason: string }[];
}

describe("sandbox ls", () => {
  test("lists what exists, of this profile or of all", async () => {
    await using cli = await createTestCli();
    expect(await cli.run(["sandbox", "ls"])).toEqual({
      status: 0,
      stdout: "TASK  PROFILE  BACKEND  STATE  CREATED  KEPT  ID\n",
      stderr: "",
    });
    await cli.run(["profile", "create", "reviewer"]);
    await cli.run(["exec", "true"]);
    await cli.run(["exec", "-t", "build", "true"]);
    await cli.run(["exec", "-p", "reviewer", "true"]);
    expect((await cli.json<Summary[]>(["sandbox", "ls"])).map(({ task }) => task)).toEqual(["build", "default"]);
    const all = await cli.json<Everywhere>(["sandbox", "list", "--all"]);
    expect(all.unlisted).toEqual([]);
    expect(all.sandboxes.map(({ profile, task }) => `${profile}/${task}`)).toEqual([
      "default/build",
      "default/default",
      "reviewer/default",
    ]);
    expect((await cli.run(["sandbox", "ls"])).stdout).toMatch(/^build +default +local +running +\d{4}-\S+Z +persists +local-\w+$/m);
  });

  test("S30 --all lists the rest when a profile or backend cannot be asked, names it, and ends with 1", async () => {
    await using cli = await createTestCli();
    for (const name of ["broken", "boxed", "sound"]) await cli.run(["profile", "create", name]);
    await cli.run(["exec", "-p", "sound", "true"]);
    await cli.run(["config", "set", "terminal.backend", "docker", "-p", "boxed"]);
    await writeFile(join(cli.home, "profiles/broken/config.yaml"), "terminal: [\n");
    const env = { HOLDFAST_DOCKER_BINARY: "/nonexistent/engine" };
    const listed = await cli.run(["sandbox", "ls", "--all"], { env });
    expect(listed.status).toBe(1);
    expect(listed.stdout).toMatch(/^default +sound +local +running /m);
    expect(listed.stderr).toMatch(/^warning: what profile boxed has on the docker backend is not listed: .*\/nonexistent\/engine/m);
    expect(listed.stderr).toMatch(/^warning: what profile broken has is not listed: .*config\.yaml/m);
    expect(listed.stderr.trim().split("\n")).toHaveLength(2);
    const { status, stdout } = await cli.run(["sandbox", "ls", "--all", "--json"], { env });
    const { sandboxes, unlisted } = JSON.parse(stdout) as Everywhere;
    expect(status).toBe(1);
    expect(sandboxes.map(({ profile, task }) => `${profile}/${task}`)).toEqual(["sound/default"]);
    expect(unlisted).toEqual([
      { profile: "boxed", backend: "docker", reason: expect.stringContaining("/nonexistent/engine") },
      { profile: "broken", backend: null, reason: expect.stringContaining("config.yaml") },
    ]);
  });

  test("S30 --all names a backend that was used before and does not answer now", async () => {
    await using cli = await createTestCli();
    await cli.run(["exec", "true"]);
    const [install = ""] = await readdir(join(cli.home, "sandboxes/local"));
    await mkdir(join(cli.home, "sandboxes/docker", install, "default/build"), { recursive: true });
    const { status, stdout, stderr } = await cli.run(["sandbox", "ls", "--all"], {
      env: { HOLDFAST_DOCKER_BINARY: "/nonexistent/engine" },
    });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^default +default +local +running /m);
    expect(stderr).toMatch(/^warning: what profile default has on the docker backend is not listed: .*\n$/);
  });
});

describe("sandbox inspect", () => {
  test("shows sessions, processes and whether it fits the configuration", async () => {
    await using cli = await createTestCli();
    await cli.run(["exec", "-s", "review", "true"]);
    await using background = await startBackground(cli);
    const found = await cli.json<{
      sessions: { name: string }[];
      processes: { command: string }[];
      use: { leases: unknown[] } | null;
    }>(["sandbox", "inspect"]);
    expect(found).toMatchObject({ task: "default", backend: "local", drift: [], description: null });
    expect(found.use?.leases ?? []).toEqual([]);
    expect(found.sessions.map(({ name }) => name)).toEqual(["default", "review"]);
    expect(found.processes).toContainEqual({ command: "sleep", pid: background.pid });
    // Where sessions begin is nothing that a sandbox was made with.
    const { stdout } = await cli.run(["sandbox", "inspect", "default", "-c", "terminal.cwd=/"]);
    expect(stdout).toMatch(/^configuration: as it was made$/m);
    expect(stdout).toMatch(/^sessions: default in \S+, review in \S+$/m);
  });

  test("of a task that has none names the one that was probably meant", async () => {
    await using cli = await createTestCli();
    await cli.run(["exec", "-t", "build", "true"]);
    const { status, stdout, stderr } = await cli.run(["sandbox", "inspect", "biuld"]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/has no sandbox for task biuld.*\nhint: did you mean "build"\?\n/);
  });
});

describe("sandbox rm", () => {
  test("removes the sandbox with all it owns, and a second time there is none", async () => {
    await using cli = await createTestCli();
    await cli.run(["exec", "-t", "build", "--", "export A=1"]);
    const removed = await cli.run(["sandbox", "rm", "build"]);
    expect(removed).toEqual({ status: 0, stdout: "", stderr: "note: the sandbox of task build is gone\n" });
    expect(await readdir(join(cli.home, "sandboxes/local"), { recursive: true })).not.toContainEqual(expect.stringContaining("state"));
    expect((await cli.run(["sandbox", "rm", "build"])).status).toBe(1);
    expect((await cli.run(["exec", "-t", "build", "--", "echo [$A]"])).stdout).toBe("[]\n");
  });

  test("S30 refuses a busy one with the name of what runs, unless forced; then the process is gone", async () => {
    await using cli = await createTestCli();
    await using background = await startBackground(cli);
    const refused = await cli.run(["sandbox", "rm", "default"]);
    expect({ status: refused.status, stdout: refused.stdout }).toEqual({ status: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^error: the sandbox of task default is busy with .*sleep \(\d+\)\nhint: .*--force/);
    expect(background.alive()).toBe(true);
    expect(await cli.json(["sandbox", "rm", "default", "--force"])).toMatchObject({ removed: { task: "default" } });
    expect(background.alive()).toBe(false);
  });

  test("S30 asks a person whether a busy one may go", async () => {
    await using cli = await createTestCli();
    await using background = await startBackground(cli);
    const kept = await cli.run(["sandbox", "rm", "default"], { tty: true, input: "n\n" });
    expect(kept.status).toBe(1);
    expect(kept.stderr).toContain("End it and go on? [y/N]");
    expect(background.alive()).toBe(true);
    const removed = await cli.run(["sandbox", "rm", "default"], { tty: true, input: "y\n" });
    expect(removed).toMatchObject({ status: 0, stdout: "" });
    expect(background.alive()).toBe(false);
  });

  test.each([["rm"], ["reset"], ["inspect"]])("S12 %s takes a name that would lead elsewhere for a name", async (verb) => {
    await using cli = await createTestCli();
    await writeFile(join(cli.directory, "precious"), "");
    const { status, stderr } = await cli.run(["sandbox", verb, "../../work"]);
    expect(status).toBe(1);
    expect(stderr).toContain("has no sandbox for task ../../work");
    expect(existsSync(join(cli.directory, "precious"))).toBe(true);
  });
});

describe("sandbox reset", () => {
  test("leaves a fresh sandbox of the same task", async () => {
    await using cli = await createTestCli();
    await cli.run(["exec", "--", "export A=1; touch kept"]);
    const { removed, made } = await cli.json<{ removed: Summary; made: Summary }>(["sandbox", "reset", "default"]);
    expect(made.task).toBe("default");
    expect(made.id).not.toBe(removed.id);
    // On this backend the caller's files are not the sandbox's own.
    expect((await cli.run(["exec", "--", "echo [$A]; ls"])).stdout).toBe("[]\nkept\n");
    expect((await cli.run(["sandbox", "reset", "nosuch"])).status).toBe(1);
  });
});

/** A process that goes on in the sandbox after its call. */
async function startBackground(cli: TestCli) {
  // The number is known before it has become what it is called.
  const script = "sleep 600 >/dev/null 2>&1 & until grep -qx sleep /proc/$!/comm; do :; done; echo $!";
  const { stdout } = await cli.run(["exec", "--", script]);
  const pid = Number(stdout);
  const alive = () => existsSync(`/proc/${pid}/fd`) && !/^State:\s+Z/m.test(statusOf(pid));
  return {
    pid,
    alive,
    async [Symbol.asyncDispose]() {
      if (alive()) process.kill(pid, "SIGKILL");
    },
  };
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    // ENOENT: it has just ended.
    return "State: Z";
  }
}
