import { readdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli } from "../../../test/helpers/cli.ts";

interface Up {
  sandbox: { id: string; task: string; backend: string; state: string };
  origin: string;
}
interface Explanation {
  backend: string;
  sandbox: { id: string } | null;
  why: string;
  goes: string[];
  stays: string;
  chosen: Record<string, string>;
  history: string[];
}

describe("sandbox up", () => {
  test("S30 makes a sandbox before its first command, and finds the one that is there", async () => {
    await using cli = await createTestCli();
    const first = await cli.json<Up>(["sandbox", "up"]);
    expect(first).toMatchObject({ origin: "created", sandbox: { task: "default", backend: "local", state: "running" } });
    expect(await cli.json<Up>(["sandbox", "up", "default"])).toMatchObject({ origin: "found", sandbox: { id: first.sandbox.id } });
    const build = await cli.run(["sandbox", "up", "build"]);
    expect(build).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/^note: the sandbox of task build runs on local, just made: local-\w+\n$/),
    });
    expect((await cli.run(["sandbox", "up", "build"])).stderr).toMatch(/^note: the sandbox of task build runs on local: local-\w+\n$/);
    expect((await cli.json<unknown[]>(["sandbox", "ls"])).length).toBe(2);
  });

  test("S45 an image on a backend that has none, and what is no backend, are refused before anything is written or made", async () => {
    await using cli = await createTestCli();
    const image = await cli.run(["sandbox", "up", "build", "--image", "debian"]);
    expect(image).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("the local backend has no images") });
    const backend = await cli.run(["sandbox", "up", "build", "--backend", "lokal"]);
    expect(backend).toMatchObject({ status: 1, stdout: "" });
    expect(backend.stderr).toContain("lokal");
    expect(backend.stderr).toContain("the settings of task build");
    expect((await cli.run(["sandbox", "up", "two\nlines", "--backend", "local"])).stderr).toContain("is not a valid task name");
    expect(await cli.json(["sandbox", "ls"])).toEqual([]);
    await expect(readdir(join(cli.home, "tasks"))).rejects.toThrow("ENOENT");
    expect((await cli.run(["exec", "-t", "build", "--", "echo fine"])).stdout).toBe("fine\n");
  });

  test("S45 a task chooses before its first call, not after it", async () => {
    await using cli = await createTestCli();
    await cli.run(["exec", "-t", "build", "true"]);
    const late = await cli.run(["sandbox", "up", "build", "--backend", "memory"]);
    expect(late).toMatchObject({ status: 1, stderr: expect.stringContaining("task build has a sandbox already, on the local backend") });
    expect(late.stderr).toContain("holdfast sandbox rm build");
    await expect(readdir(join(cli.home, "tasks"))).rejects.toThrow("ENOENT");
  });
});

describe("a task with a backend of its own", () => {
  const env = { TERMINAL_BACKEND: "memory" };

  test("S45 has it in every process, whatever the variables say, and is listed with the others", async () => {
    await using cli = await createTestCli();
    const { sandbox } = await cli.json<Up>(["sandbox", "up", "build", "--backend", "local"], { env });
    expect(sandbox.backend).toBe("local");
    expect(await cli.runProcess(["exec", "-t", "build", "--", "export A=1"], { env })).toMatchObject({ status: 0, stderr: "" });
    expect((await cli.runProcess(["exec", "-t", "build", "--", "echo $A"], { env })).stdout).toBe("1\n");
    expect(await cli.json(["sandbox", "ls"], { env })).toMatchObject([
      { task: "build", backend: "local", id: sandbox.id, why: "persists" },
    ]);
    expect(await cli.json(["sandbox", "ls", "--all"], { env })).toMatchObject({ sandboxes: [{ id: sandbox.id }], unlisted: [] });
    expect(await cli.json(["sandbox", "inspect", "build"], { env })).toMatchObject({ id: sandbox.id, drift: [] });
    expect((await cli.json<{ name: string }[]>(["session", "ls", "-t", "build"], { env })).map(({ name }) => name)).toEqual(["default"]);
    // Another task has what is configured.
    expect(await cli.json<Explanation>(["sandbox", "explain", "other"], { env })).toMatchObject({ backend: "memory", chosen: {} });
    expect(await cli.json<Explanation>(["sandbox", "explain", "build"], { env })).toMatchObject({
      backend: "local",
      chosen: { "terminal.backend": "local" },
    });
    // The same choice again is none.
    expect(await cli.json<Up>(["sandbox", "up", "build", "--backend", "local"], { env })).toMatchObject({ origin: "found" });
  });

  test("S45 a flag wins over the choice", async () => {
    await using cli = await createTestCli();
    await cli.json<Up>(["sandbox", "up", "build", "--backend", "local"], { env });
    const flag = ["-c", "terminal.backend=memory"];
    expect(await cli.json<Explanation>(["sandbox", "explain", "build", ...flag], { env })).toMatchObject({ backend: "memory" });
    expect((await cli.run(["exec", "-t", "build", ...flag, "--", "export A=1"], { env })).status).toBe(0);
    expect((await cli.run(["exec", "-t", "build", "--", "echo [$A]"], { env })).stdout).toBe("[]\n");
  });

  test("S45 rm forgets the choice, also when there is no sandbox", async () => {
    await using cli = await createTestCli();
    await cli.json<Up>(["sandbox", "up", "build", "--backend", "local"], { env });
    expect((await cli.run(["sandbox", "rm", "build"], { env })).stderr).toBe("note: the sandbox of task build is gone\n");
    expect(await readdir(join(cli.home, "tasks"))).toEqual([]);
    expect(await cli.json(["sandbox", "ls"], { env })).toEqual([]);
    expect(await cli.json<Explanation>(["sandbox", "explain", "build"], { env })).toMatchObject({ backend: "memory", chosen: {} });
    // The memory backend forgets its sandbox at once, so only the choice is left.
    await cli.json<Up>(["sandbox", "up", "build", "--backend", "memory"]);
    expect((await cli.run(["sandbox", "inspect", "build"])).stderr).toContain("no sandbox for task build on the memory backend");
    expect(await cli.run(["sandbox", "rm", "build"])).toMatchObject({
      status: 0,
      stderr: "note: task build had no sandbox; what earlier ones left, and its own settings, are gone\n",
    });
    expect(await cli.run(["sandbox", "rm", "build"])).toMatchObject({ status: 1, stderr: expect.stringContaining("has no sandbox") });
  });

  test("S45 is reset to a fresh sandbox on the same backend", async () => {
    await using cli = await createTestCli();
    const { sandbox } = await cli.json<Up>(["sandbox", "up", "build", "--backend", "local"], { env });
    const { made } = await cli.json<{ made: Up["sandbox"] }>(["sandbox", "reset", "build"], { env });
    expect(made).toMatchObject({ backend: "local" });
    expect(made.id).not.toBe(sandbox.id);
  });

  test("S45 settings that cannot be read are an error that names the file, not another sandbox", async () => {
    await using cli = await createTestCli();
    await cli.json<Up>(["sandbox", "up", "build", "--backend", "local"]);
    await writeFile(join(cli.home, "tasks/build.json"), "{");
    const broken = await cli.run(["exec", "-t", "build", "true"]);
    expect(broken).toMatchObject({ status: 125, stdout: "", stderr: expect.stringContaining(join(cli.home, "tasks/build.json")) });
    expect((await cli.run(["exec", "--", "echo fine"])).stdout).toBe("fine\n");
  });
});

describe("sandbox stop", () => {
  test("S30 is refused on a backend whose sandboxes are nothing but processes", async () => {
    await using cli = await createTestCli();
    expect((await cli.run(["sandbox", "stop", "default"])).stderr).toContain("has no sandbox for task default");
    await cli.run(["exec", "true"]);
    const refused = await cli.run(["sandbox", "stop", "default", "--json"]);
    expect(refused.status).toBe(1);
    expect(refused.stdout + refused.stderr).toContain('"code":"unsupported"');
    expect((await cli.run(["sandbox", "stop", "default", "--force"])).stderr).toMatch(
      /a sandbox of the local backend cannot be stopped.*\nhint: .*holdfast process kill/,
    );
    expect(await cli.json(["sandbox", "ls"])).toMatchObject([{ state: "running" }]);
  });
});

describe("sandbox prune", () => {
  test("S30 with nothing to remove says so, and touches nothing", async () => {
    await using cli = await createTestCli();
    await cli.run(["profile", "create", "reviewer"]);
    await cli.run(["exec", "true"]);
    for (const args of [[], ["--dry-run"], ["--all", "--files"]])
      expect(await cli.run(["sandbox", "prune", ...args])).toEqual({ status: 0, stdout: "", stderr: "note: there is nothing to remove\n" });
    expect(await cli.json(["sandbox", "prune", "--dry-run"])).toEqual({ dryRun: true, pruned: [] });
    expect((await cli.json<unknown[]>(["sandbox", "ls"])).length).toBe(1);
  });
});

describe("sandbox explain", () => {
  test("S30 S31 says why a sandbox is kept, when it goes, and what became of the one before", async () => {
    await using cli = await createTestCli();
    expect(await cli.json(["sandbox", "explain"])).toMatchObject({ sandbox: null, goes: [], history: [] });
    const { sandbox } = await cli.json<Up>(["sandbox", "up"]);
    const found = await cli.json<Explanation>(["sandbox", "explain"]);
    expect(found).toMatchObject({ backend: "local", sandbox: { id: sandbox.id }, why: "persists", history: [] });
    expect(found.goes.join("\n")).toContain("`holdfast sandbox rm` removes it");
    expect(found.stays).toContain("the host's own files, which stay");
    const shown = await cli.run(["sandbox", "explain"]);
    expect(shown.stdout).toMatch(new RegExp(`^task: default\nsandbox: ${sandbox.id}, running, on local\nwhy: persists\ngoes: `));

    expect((await cli.runProcess(["sandbox", "rm", "default"])).status).toBe(0);
    const { sandbox: none, history } = await cli.json<Explanation>(["sandbox", "explain"]);
    expect(none).toBeNull();
    expect(history).toHaveLength(1);
    expect(history[0]).toMatch(
      new RegExp(`^\\d{4}-\\S+Z: ${sandbox.id} was removed: asked for; by holdfast sandbox rm, process \\d+ on ${hostname()}$`),
    );
    expect((await cli.json<Explanation>(["sandbox", "explain", "build"])).history).toEqual([]);
    const [line = ""] = (await readFile(join(cli.home, "audit.log"), "utf8")).split("\n");
    expect(JSON.parse(line)).toMatchObject({ what: "removed", sandbox: sandbox.id, backend: "local", profile: "default", task: "default" });
  });
});
