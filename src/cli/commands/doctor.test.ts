import { describe, expect, test } from "vitest";
import { createTestCli } from "../../../test/helpers/cli.ts";

describe("doctor", () => {
  test("says that the backend is ready", async () => {
    await using cli = await createTestCli();
    const { status, stdout, stderr } = await cli.run(["doctor"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^ {3}BACKEND +STATUS +DETAIL\n/);
    expect(stdout).toMatch(/^\* {2}local +ready +bash \d/m);
  });

  test("names the reason and the fix when it is broken, and ends with 1", async () => {
    await using cli = await createTestCli();
    const { status, stdout } = await cli.run(["doctor"], { env: { PATH: cli.directory } });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^\* {2}local +broken +bash does not run/m);
    expect(stdout).toContain("fix for local: install bash");
    const { status: failed, stderr } = await cli.run(["exec", "true"], { env: { PATH: cli.directory } });
    expect(failed).toBe(125);
    expect(stderr).toMatch(/^error: the local backend does not work: bash does not run.*\nhint: install bash/);
  });

  test("shows a backend for tests only where it is configured", async () => {
    await using cli = await createTestCli();
    const names = async (...args: string[]) =>
      (await cli.json<{ backends: { name: string }[] }>(["doctor", ...args])).backends.map(({ name }) => name);
    expect(await cli.json(["doctor"])).toMatchObject({ backend: "local", healthy: true });
    expect(await names()).toEqual(["docker", "local"]);
    expect(await names("-c", "terminal.backend=memory")).toEqual(["docker", "local", "memory"]);
  });

  test("changes nothing", async () => {
    await using cli = await createTestCli();
    await cli.run(["doctor"]);
    expect(await cli.json(["sandbox", "ls"])).toEqual([]);
  });
});
