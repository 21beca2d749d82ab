import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTestCli, type TestCli } from "../helpers/cli.ts";
import { describeIf } from "../helpers/requirements.ts";

// Each test starts the program many times.
vi.setConfig({ testTimeout: 120_000 });

let cli: TestCli;
beforeEach(async () => {
  cli = await createTestCli();
  await cli.run(["profile", "create", "one"]);
});
afterEach(async () => {
  for (const profile of ["one", "two"]) await cli.run(["sandbox", "rm", "build", "--force", "-p", profile]);
  await cli[Symbol.asyncDispose]();
});

/** Starts something in the background that ignores TERM, and returns its process id. */
async function startStubborn(): Promise<number> {
  const script = "trap '' TERM; echo pid $$; while :; do sleep 1000; done";
  const started = await cli.runProcess([
    "process",
    "start",
    "-p",
    "one",
    "-t",
    "build",
    "--name",
    "server",
    "--",
    `exec bash -c "${script.replaceAll("$", "\\$")}"`,
  ]);
  expect(started).toMatchObject({ status: 0 });
  const follower = cli.start(["process", "logs", "--follow", "-p", "one", "-t", "build", "server"]);
  const [, pid] = /pid (\d+)/.exec(await follower.untilPrinted("pid ")) ?? [];
  follower.child.kill("SIGKILL");
  await follower.ended;
  return Number(pid);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // ESRCH: it is gone.
    return false;
  }
}

describeIf("cc", "a profile under which something runs", () => {
  test("K2 is not renamed, and nothing is lost; --remove-sandboxes ends it first", async () => {
    const pid = await startStubborn();
    const refused = await cli.runProcess(["profile", "rename", "one", "two"]);
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/the sandbox of task build is busy with bash \(\d+\)/) });
    expect(refused.stderr).toContain("--remove-sandboxes");
    expect(isAlive(pid)).toBe(true);
    expect(await cli.json(["process", "ls", "-p", "one", "-t", "build"])).toMatchObject([{ name: "server", state: "running" }]);

    const renamed = await cli.runProcess(["profile", "rename", "one", "two", "--remove-sandboxes"]);
    expect(renamed).toMatchObject({ status: 0, stderr: expect.stringContaining("its sandboxes are gone: build") });
    expect(isAlive(pid)).toBe(false);
    expect(await readdir(join(cli.home, "profiles"))).toEqual(["two"]);
    expect(await cli.json(["sandbox", "ls", "-p", "two"])).toEqual([]);
  });

  test("K2 is renamed once it rests: its sandbox follows, and other processes find it under the new name alone", async () => {
    await cli.runProcess(["exec", "-p", "one", "-t", "build", "--", "export A=1"]);
    expect(await cli.runProcess(["profile", "rename", "one", "two"])).toMatchObject({ status: 0 });
    expect(await cli.runProcess(["exec", "-p", "two", "-t", "build", "--", "echo $A"])).toMatchObject({ status: 0, stdout: "1\n" });
    expect(await cli.runProcess(["process", "start", "-p", "two", "-t", "build", "--", "true"])).toMatchObject({ status: 0 });
    expect(await cli.runProcess(["exec", "-p", "one", "true"])).toMatchObject({
      status: 125,
      stderr: expect.stringContaining("there is no profile one"),
    });
    expect(await cli.json(["sandbox", "ls", "--all"])).toMatchObject({ sandboxes: [{ profile: "two", task: "build" }], unlisted: [] });
  });

  test("K2 is deleted with all that runs under it, and nothing of another profile", async () => {
    const pid = await startStubborn();
    await cli.run(["profile", "create", "two"]);
    await cli.runProcess(["exec", "-p", "two", "-t", "build", "true"]);
    expect(await cli.runProcess(["profile", "delete", "one", "--confirm", "one"])).toMatchObject({
      status: 0,
      stderr: expect.stringContaining("build"),
    });
    expect(isAlive(pid)).toBe(false);
    expect(await readdir(join(cli.home, "profiles"))).toEqual(["two"]);
    expect(await cli.json(["sandbox", "ls", "--all"])).toMatchObject({ sandboxes: [{ profile: "two", task: "build" }], unlisted: [] });
  });

  test("K2 of two that delete it at once, both end, and it is gone", async () => {
    await startStubborn();
    const both = await Promise.all([1, 2].map(() => cli.runProcess(["profile", "delete", "one", "--confirm", "one"])));
    expect(both.map(({ status }) => status)).toContain(0);
    expect(await readdir(join(cli.home, "profiles"))).toEqual([]);
  });
});
