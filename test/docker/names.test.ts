import { existsSync } from "node:fs";
import { mkdir, readdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../helpers/cli.ts";
import { ENGINE_LIMIT_MS, type TestEngine, testEngine } from "../helpers/engine.ts";
import { engineVariables } from "../helpers/engine-harness.ts";
import { BASE_IMAGE } from "../helpers/engine-image.ts";
import { describeIf } from "../helpers/requirements.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";

describeEngines("owners whose names are made to be mistaken", (engine) => {
  test(
    "S12 S16 have a sandbox each, inside the one directory, and find it again",
    async () => {
      const bench = await engineBench(engine());
      const long = "x".repeat(300);
      const commands = '日本 $(touch /tmp/holdfast-evil) ","';
      const tasks = ["../../x", ".._.._x", "a/b", "a_b", commands, "Case", "case", long, `${long}y`];
      const owners = [...tasks.map((task) => bench.owner(task)), bench.owner("case", "a/b"), bench.owner("case", "a_b")];
      const lifecycle = await bench.process();
      const ids = new Set<string>();
      for (const [index, owner] of owners.entries()) {
        const { sandbox, origin } = await lifecycle.acquire(owner, containerSpec());
        expect(origin, JSON.stringify(owner)).toBe("created");
        ids.add(sandbox.ref.id);
        await sandbox.run(`echo ${index} >/workspace/me; echo ${index} >/tmp/me`);
      }
      expect(ids.size).toBe(owners.length);
      const other = await bench.process();
      for (const [index, owner] of owners.entries()) {
        const { sandbox, origin } = await other.acquire(owner, containerSpec());
        expect(origin).toBe("found");
        expect((await sandbox.run("cat /workspace/me /tmp/me")).stdout).toBe(`${index}\n${index}\n`);
      }
      // The home is that of the engine's client.
      expect((await readdir(bench.directory)).sort()).toEqual(["home", "sandboxes"]);
      const install = join(bench.directory, "sandboxes/docker", bench.owner().install);
      const profiles = await readdir(install);
      const places = await Promise.all(profiles.map((profile) => readdir(join(install, profile))));
      expect(places.flat()).toHaveLength(owners.length);
      expect(existsSync("/tmp/holdfast-evil")).toBe(false);

      const driver = await bench.driver();
      for (const owner of owners) {
        const [ref, ...rest] = await driver.list(owner);
        expect([ref?.owner, rest]).toEqual([owner, []]);
        if (owner.task === "../../x" && ref) await driver.destroy(ref, { purge: true });
      }
      expect(await bench.containers()).toHaveLength(owners.length - 1);
      expect((await readdir(bench.directory)).sort()).toEqual(["home", "sandboxes"]);
    },
    2 * LONG,
  );
});

describeEngines("with the labels of Hermes", (engine) => {
  test.each(["emoji-😀-here", "task/with:weird*chars"])(
    "S12 a container that Hermes made for task %s is found, and is the one that is used",
    async (task) => {
      const bench = await engineBench(engine());
      // As Hermes shortens the names: one `_` for each character.
      const value = task.replace("😀", "_").replace(/[/:*]/g, "_");
      const profile = bench.owner().install;
      const labels = { "hermes-agent": "1", "hermes-task-id": value, "hermes-profile": profile, "holdfast-install": bench.owner().install };
      const given = Object.entries(labels).flatMap(([name, text]) => ["--label", `${name}=${text}`]);
      const id = await bench.ask("run", "-d", ...given, BASE_IMAGE, "sh", "-c", "mkdir -p /workspace; exec sleep infinity");
      const driver = await bench.driver({ settings: { label_prefix: "hermes" } });
      const lease = await bench.lifecycle(driver).acquire(bench.owner(task, profile), containerSpec());
      expect(lease).toMatchObject({ origin: "found", sandbox: { ref: { id } } });
      expect((await lease.sandbox.run("echo in")).stdout).toBe("in\n");
      expect((await bench.containers()).map((container) => container.id)).toEqual([id]);
    },
    LONG,
  );
});

describeIf(["cc", "dockerd", "mmdebstrap"], "on the command line of the docker backend", () => {
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
  afterEach(() => cli[Symbol.asyncDispose]());
  const everything = async () => (await readdir(dirname(cli.home), { recursive: true })).sort();

  test("S12 a name that cannot be printed is refused, by every verb and before anything is written", async () => {
    await cli.run(["config", "path"], { env });
    const before = await everything();
    for (const task of ["a\nb", "a\u001bb", "x".repeat(300), "", " ", " a", "a "]) {
      const lines = [
        ["exec", "--task", task, "--", "true"],
        ["sandbox", "rm", "--force", "--", task],
        ["cp", "--task", task, "-", ":/tmp/file"],
      ];
      for (const line of lines) {
        const { status, stderr } = await cli.run(line, { env });
        expect(status, `${JSON.stringify(task)}: ${stderr}`).not.toBe(0);
        expect(stderr, JSON.stringify(line)).toMatch(/is not a valid task name/);
      }
    }
    for (const profile of ["../../x", "a/b", ".", "..", "/etc", "x".repeat(300), "é"]) {
      const { status, stderr } = await cli.run(["--profile", profile, "exec", "--", "true"], { env });
      expect([status, /is not a valid profile name/.test(stderr)], stderr).toEqual([125, true]);
      const made = await cli.run(["profile", "create", "--", profile], { env });
      expect([made.status === 0, /is not a valid profile name/.test(made.stderr)], made.stderr).toEqual([false, true]);
    }
    expect(await everything()).toEqual(before);
  });

  test(
    "S12 S16 any other name has its own sandbox, below the one directory, for every verb",
    async () => {
      const tasks = ["task/with:weird*chars", "task_with_weird_chars", "../../x", "/etc", "..", "~", "-a", "a\\b", "emoji-😀-here"];
      const exec = (task: string, command: string) => cli.runProcess(["exec", `--task=${task}`, "--", command], { env });
      for (const [index, task] of tasks.entries()) {
        expect(await exec(task, `echo ${index} >/workspace/me`)).toMatchObject({ status: 0, stderr: "" });
        const copied = await cli.run(["cp", `--task=${task}`, ":/workspace/me", "-"], { env });
        expect(copied, task).toEqual({ status: 0, stdout: `${index}\n`, stderr: "" });
        expect(JSON.parse((await cli.run(["sandbox", "inspect", "--json", "--", task], { env })).stdout)).toMatchObject({
          task,
          sessions: [{ name: "default" }],
        });
      }
      for (const [index, task] of tasks.entries()) expect((await exec(task, "cat me")).stdout).toBe(`${index}\n`);
      const listed = await cli.json<{ task: string }[]>(["sandbox", "ls"], { env });
      expect(listed.map(({ task }) => task).sort()).toEqual([...tasks].sort());
      for (const task of tasks) expect((await cli.run(["sandbox", "rm", "--", task], { env })).status).toBe(0);
      expect(await cli.json(["sandbox", "ls"], { env })).toEqual([]);
    },
    2 * LONG,
  );

  test(
    "S8 the home directory is not mounted, under whatever name, unless that is allowed",
    async () => {
      const home = cli.env.HOME ?? "";
      const work = join(home, "work");
      await mkdir(work, { recursive: true });
      await symlink(home, join(cli.directory, "link"));
      await symlink("link", join(cli.directory, "chain"));
      await symlink(dirname(home), join(work, "up"));
      await symlink("/", join(work, "root"));
      const run = (settings: Record<string, unknown>, cwd = cli.directory) =>
        cli.runProcess(
          [
            ...Object.entries(settings).flatMap(([key, value]) => ["-c", `terminal.${key}=${JSON.stringify(value)}`]),
            "exec",
            "--",
            "ls -a /data /workspace",
          ],
          { env, cwd },
        );
      const sources = [
        "/",
        "~",
        home,
        `${home}/`,
        dirname(home),
        `${work}/..`,
        join(cli.directory, "link"),
        `${join(cli.directory, "chain")}/`,
        `${cli.directory}/link/work/up`,
        `${work}/root`,
      ];
      const volumes = await Promise.all(
        sources.map(async (source) => ({ source, ...(await run({ docker_volumes: [`${source}:/data:ro`] })) })),
      );
      for (const { source, status, stderr } of volumes) {
        expect([status, stderr], source).toEqual([
          125,
          expect.stringMatching(/would give a sandbox the whole (home directory|file system)/),
        ]);
      }
      for (const cwd of [home, "/", join(cli.directory, "link")]) {
        const { status, stderr } = await run({ docker_mount_cwd_to_workspace: true }, cwd);
        expect([status, stderr], cwd).toEqual([125, expect.stringMatching(/would give a sandbox the whole/)]);
      }
      expect(existsSync(join(cli.home, "sandboxes"))).toBe(false);

      const optOut = { docker_persist_across_processes: false, container_persistent: false };
      const inside = await run({ ...optOut, docker_volumes: [`${work}:/data:ro`] });
      expect(inside.stdout).toMatch(/^\/data:\n\.\n\.\.\nroot\nup\n/);
      const allowed = await run(
        { ...optOut, docker_volumes: ["~:/data:ro"], docker_mount_cwd_to_workspace: true, docker_allow_home_mount: true },
        home,
      );
      expect(allowed.stdout).toBe("/data:\n.\n..\nwork\n\n/workspace:\n.\n..\nwork\n");
    },
    LONG,
  );
});
