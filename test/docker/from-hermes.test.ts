import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CliBench, cliBench } from "./cli-bench.ts";
import { describeEngines, LONG } from "./engine-bench.ts";

/** A `config.yaml`, and what processes then say. */
async function configured({ cli, env }: CliBench, lines: readonly string[], changes: Readonly<Record<string, string | undefined>> = {}) {
  await mkdir(cli.home, { recursive: true });
  await writeFile(join(cli.home, "config.yaml"), ["terminal:", ...lines.map((line) => `  ${line}`), ""].join("\n"));
  return (args: string[], cwd = cli.directory) => cli.runProcess(args, { env: { ...env, ...changes }, cwd });
}

const ok = (stdout: string, stderr: unknown = "") => ({ status: 0, stdout, stderr });

describeEngines("what a user of Hermes has", (engine) => {
  test(
    "S48 TERMINAL_ENV, HERMES_DOCKER_BINARY and cwd: . run commands in a container, where it begins",
    async () => {
      const bench = await cliBench(engine());
      const { HOLDFAST_DOCKER_BINARY: binary, TERMINAL_BACKEND: backend } = bench.env;
      const ours = { HOLDFAST_DOCKER_BINARY: undefined, TERMINAL_BACKEND: undefined };
      const run = await configured(bench, ["cwd: .", "lifetime_seconds: 0"], {
        ...ours,
        TERMINAL_ENV: backend,
        HERMES_DOCKER_BINARY: binary,
      });
      expect(await run(["exec", "pwd; export KEPT=yes"])).toMatchObject(ok("/workspace\n"));
      expect(await run(["exec", "echo $KEPT"])).toMatchObject(ok("yes\n"));
      expect(await bench.containers()).toHaveLength(1);
      // Its own name counts first, and a mistake names the variable that was read.
      const wrong = await bench.cli.run(["exec", "true"], {
        env: { ...bench.env, ...ours, TERMINAL_ENV: backend ?? "", HERMES_DOCKER_BINARY: "/none" },
      });
      expect(wrong).toMatchObject({ status: 125, stderr: expect.stringContaining('HERMES_DOCKER_BINARY names "/none"') });
      expect(await bench.cli.run(["exec", "true"], { env: { ...bench.env, HERMES_DOCKER_BINARY: "/none" } })).toMatchObject(ok(""));
    },
    LONG,
  );

  test(
    "S8 S48 volumes take the engine's options, and a host directory that is missing is made, as the caller's own, and said",
    async () => {
      const bench = await cliBench(engine());
      const [there, missing] = [join(bench.cli.directory, "there"), join(bench.cli.directory, "not/yet")];
      await mkdir(there);
      await writeFile(join(there, "note"), "from the host\n");
      const run = await configured(bench, [`docker_volumes: ['${there}:/there:ro,z', '${missing}:/made:z', '${missing}/more:/more']`]);
      const said = (path: string, target: string) => `warning: ${path} was not there, so it was made, for ${target} in the sandbox\n`;
      expect(await run(["exec", "cat /there/note; echo x >/made/file; touch /there/no 2>/dev/null || echo read-only"])).toMatchObject(
        ok("from the host\nread-only\n", said(missing, "/made") + said(`${missing}/more`, "/more")),
      );
      expect(await stat(missing)).toMatchObject({ uid: process.getuid?.(), mode: 0o40755 });
      expect(await stat(join(missing, "file"))).toMatchObject({ size: 2 });
      expect(await run(["exec", "cat /made/file"])).toMatchObject(ok("x\n"));
      const refused = await configured(bench, ["docker_volumes: ['/proc/none/x:/made']"]);
      expect(await refused(["exec", "--task", "other", "true"])).toMatchObject({
        status: 125,
        stderr: expect.stringMatching(
          /^error: .*\/proc\/none\/x, which belongs at \/made, is not there and cannot be made: .*\nhint: correct terminal\.docker_volumes/,
        ),
      });
    },
    LONG,
  );

  test(
    "S48 --name and --restart in docker_extra_args are honoured, and the container is found by any process",
    async () => {
      const bench = await cliBench(engine());
      const name = `from-hermes-${process.pid}`;
      const run = await configured(bench, [`docker_extra_args: [--name, ${name}, --restart=unless-stopped]`]);
      expect(await run(["exec", "echo it >/var/note"])).toMatchObject(ok(""));
      const { stdout } = await engine().run(["container", "inspect", "--format", "{{.Name}} {{.HostConfig.RestartPolicy.Name}}", name]);
      expect(stdout.trim().replace(/^\//, "")).toBe(`${name} unless-stopped`);
      expect(await run(["exec", "cat /var/note"])).toMatchObject(ok("it\n"));
      await engine().run(["stop", "-t", "0", name]);
      expect(await run(["exec", "cat /var/note"])).toMatchObject({ status: 0, stdout: "it\n" });
      expect(await run(["exec", "--task", "other", "true"])).toMatchObject({
        status: 125,
        stderr: expect.stringMatching(
          `a container that is not ours is called ${name}\nhint: each task has a container of its own: leave --name out`,
        ),
      });
      expect(await bench.containers()).toHaveLength(1);
    },
    LONG,
  );

  test(
    "S8 S48 docker_mount_cwd_to_workspace refuses to make a sandbox from the home directory, and uses one that is there",
    async () => {
      const bench = await cliBench(engine());
      const home = bench.cli.env.HOME ?? "";
      const run = await configured(bench, ["docker_mount_cwd_to_workspace: true", "docker_on_drift: recreate"]);
      const refused = { status: 125, stderr: expect.stringContaining("would give a sandbox the whole home directory") };
      expect(await run(["exec", "true"], home)).toMatchObject(refused);
      expect(await bench.containers()).toEqual([]);

      await writeFile(join(bench.cli.directory, "note"), "of the project\n");
      const inspected = async (cwd: string) => (await bench.cli.run(["sandbox", "inspect"], { env: bench.env, cwd })).stdout;
      expect(await run(["exec", "cat /workspace/note"])).toMatchObject(ok("of the project\n"));
      expect(await inspected(home)).toContain("limits in force");
      // Nothing could take its place, so it does not go.
      expect(await run(["exec", "true"], home)).toMatchObject(refused);
      expect(await run(["exec", "-c", "terminal.docker_on_drift=reuse", "cat /workspace/note"], home)).toMatchObject(
        ok("of the project\n"),
      );
      expect(await run(["exec", "-c", "terminal.docker_on_drift=warn", "cat /workspace/note"], home)).toMatchObject({
        status: 0,
        stdout: "of the project\n",
        stderr: expect.stringContaining("it is used as it is"),
      });
      expect(await bench.containers()).toHaveLength(1);
    },
    LONG,
  );
});
