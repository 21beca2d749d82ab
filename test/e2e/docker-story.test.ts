import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../helpers/cli.ts";
import { ENGINE_LIMIT_MS, type TestEngine, testEngine } from "../helpers/engine.ts";
import { engineVariables } from "../helpers/engine-harness.ts";
import { describeIf } from "../helpers/requirements.ts";

describeIf(["cc", "dockerd", "mmdebstrap"], "a computer that stays, in a container", () => {
  let engine: TestEngine;
  let cli: TestCli;
  let env: Record<string, string>;
  beforeAll(async () => {
    engine = await testEngine();
  }, ENGINE_LIMIT_MS);
  beforeEach(async () => {
    cli = await createTestCli();
    env = engineVariables(engine);
  });
  afterEach(async () => {
    for (const { task } of await sandboxes()) await cli.run(["sandbox", "rm", "--force", "--", task], { env });
    await cli[Symbol.asyncDispose]();
  });

  const sandboxes = () => cli.json<{ task: string; id: string; state: string }[]>(["sandbox", "ls"], { env });
  const exec = async (...args: string[]) => {
    const { status, stdout, stderr } = await cli.runProcess(["exec", ...args], { env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout.trim();
  };
  const install = async () => (await cli.json<{ id: string }>(["sandbox", "inspect"], { env })).id;

  test("S14 S18 two terminals meet in one container, and find what was left there", async () => {
    const [one, two] = await Promise.all([exec("-s", "one", "--", "hostname"), exec("-s", "two", "--", "hostname")]);
    expect(one).toBe(two);
    await exec("--", "echo kept >/tmp/note; echo token >~/.login; cd /etc; export STAGE=test");
    expect(await exec("--", "cat /tmp/note ~/.login; pwd; echo $STAGE; hostname")).toBe(`kept\ntoken\n/etc\ntest\n${one}`);
    expect(await sandboxes()).toMatchObject([{ task: "default", state: "running", id: expect.stringMatching(new RegExp(`^${one}`)) }]);
  });

  test("S18 a watcher survives the SIGKILL of whoever started it, and another process follows and stops it", async () => {
    const starter = cli.start(["process", "start", "--name", "watch", "--", "while :; do echo tick; sleep 0.1; done"], { env });
    await starter.untilPrinted("p_");
    starter.child.kill("SIGKILL");
    await once(starter.child, "close");
    const follower = cli.start(["process", "logs", "--follow", "watch"], { env });
    await follower.untilPrinted("tick\ntick\n");
    follower.child.kill("SIGKILL");
    await once(follower.child, "close");
    expect((await cli.run(["process", "kill", "watch"], { env })).status).toBe(0);
    expect(await cli.json(["process", "ls"], { env })).toMatchObject([{ name: "watch", state: "ended" }]);
  });

  test("S19 a container that was stopped is started again: files are there, processes are not, and the result says so", async () => {
    await exec("--", "echo kept >~/note");
    await engine.run(["stop", "-t", "0", await install()]);
    const { stdout } = await cli.run(["exec", "--json", "--", "cat ~/note"], { env });
    expect(JSON.parse(stdout)).toMatchObject({ stdout: "kept\n", restarted: true });
  });

  test("S20 a container that was removed is made anew, and the result says what was lost", async () => {
    const first = await exec("--", "hostname");
    await engine.run(["rm", "-f", await install()]);
    const { stdout } = await cli.runProcess(["exec", "--", "hostname"], { env });
    expect(stdout.trim()).not.toBe(first);
  });

  test("S16 S21 without persistence nothing is left behind", async () => {
    const optOut = { ...env, TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "false", TERMINAL_CONTAINER_PERSISTENT: "false" };
    const run = () => cli.runProcess(["exec", "--", "hostname"], { env: optOut });
    const [first, second] = [await run(), await run()];
    expect([first.status, second.status]).toEqual([0, 0]);
    expect(first.stdout).not.toBe(second.stdout);
    expect(await sandboxes()).toEqual([]);
  });

  test("S30 a sandbox that is removed with its files takes everything with it", async () => {
    await exec("--", "echo kept >~/note; echo work >/workspace/file");
    const id = await install();
    expect((await cli.run(["sandbox", "rm", "default", "--files"], { env })).status).toBe(0);
    expect((await engine.run(["inspect", id])).code).not.toBe(0);
    const left = await readdir(join(cli.home, "sandboxes"), { recursive: true, withFileTypes: true });
    // The daemon's program is the installation's, not the sandbox's.
    expect(left.filter((entry) => !entry.isDirectory()).map(({ name }) => name)).toEqual([expect.stringMatching(/^holdfastd-/)]);
  });
});
