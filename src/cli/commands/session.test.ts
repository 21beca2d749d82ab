import { expect, test } from "vitest";
import { createTestCli } from "../../../test/helpers/cli.ts";

interface Session {
  name: string;
  cwd: string;
  lastUsedAt: string;
}

test("session ls lists the sessions of a task's sandbox, and none where there is no sandbox", async () => {
  await using cli = await createTestCli();
  expect(await cli.run(["session", "ls"])).toEqual({ status: 0, stdout: "SESSION  DIRECTORY  LAST USED\n", stderr: "" });
  expect(await cli.json(["sandbox", "ls"])).toEqual([]);
  await cli.run(["exec", "true"]);
  await cli.run(["exec", "-s", "review", "--", "mkdir $'new\\nline'; cd $'new\\nline'"]);
  await cli.run(["exec", "-t", "build", "-s", "other", "true"]);
  const sessions = await cli.json<Session[]>(["session", "ls"]);
  expect(sessions.map(({ name, cwd }) => [name, cwd])).toEqual([
    ["default", cli.directory],
    ["review", `${cli.directory}/new\nline`],
  ]);
  expect(sessions[0]?.lastUsedAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect((await cli.run(["session", "ls"])).stdout).toMatch(/^review +\S+\/new\\nline +\S+Z$/m);
  expect((await cli.json<Session[]>(["session", "list", "--task", "build"])).map(({ name }) => name)).toEqual(["other"]);
});

test("session rm forgets one session and leaves the others", async () => {
  await using cli = await createTestCli();
  await cli.run(["exec", "--", "export A=1"]);
  await cli.run(["exec", "-s", "review", "--", "export A=2"]);
  expect(await cli.run(["session", "rm", "review"])).toEqual({ status: 0, stdout: "", stderr: "note: session review is forgotten\n" });
  expect((await cli.run(["exec", "-s", "review", "--", "echo [$A]"])).stdout).toBe("[]\n");
  expect((await cli.run(["exec", "--", "echo [$A]"])).stdout).toBe("[1]\n");
  expect(await cli.json(["session", "remove", "default"])).toEqual({ removed: "default" });
});

test.each([
  ["nosuch", "there is no session nosuch in the sandbox of task default"],
  ["../default", '"../default" is not a valid session name'],
])("session rm %s fails", async (name, message) => {
  await using cli = await createTestCli();
  await cli.run(["exec", "true"]);
  const { status, stdout, stderr } = await cli.run(["session", "rm", name]);
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain(`error: ${message}\nhint: `);
});

test("session rm without a sandbox makes none", async () => {
  await using cli = await createTestCli();
  const { status, stderr } = await cli.run(["session", "rm", "x", "--task", "build"]);
  expect(status).toBe(1);
  expect(stderr).toContain("has no sandbox for task build");
  expect(await cli.json(["sandbox", "ls"])).toEqual([]);
});
