import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { createTestCli, PROGRAM } from "../helpers/cli.ts";
import { ENGINE_LIMIT_MS, type PrivateEngine, privateEngine } from "../helpers/engine.ts";
import { engineVariables } from "../helpers/engine-harness.ts";
import { BASE_IMAGE, USER_IMAGE } from "../helpers/engine-image.ts";
import { describeIf } from "../helpers/requirements.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { LONG } from "./engine-bench.ts";

const NOBODY = 65534;
const AS_NOBODY = ["setpriv", "--reuid", String(NOBODY), "--regid", String(NOBODY), "--clear-groups"];

/** Why that user cannot run the program from here; null when it can. */
function whyNot(): string | null {
  const [command = "", ...args] = AS_NOBODY;
  const { error, status } = spawnSync(command, [...args, process.execPath, PROGRAM, "--version"], { env: { HOME: "/nonexistent" } });
  if (error) return "needs setpriv";
  return status === 0 ? null : "needs sources and a node that every user may read, and root to become another one";
}

/** The command line of that user, with a home of its own. */
async function ordinaryUser(engine: PrivateEngine) {
  const [cli, place] = [await createTestCli(), await temporaryDirectory()];
  onTestFinished(async () => {
    await place[Symbol.asyncDispose]();
    await cli[Symbol.asyncDispose]();
  });
  const [home, cwd] = [join(place.path, "home"), join(place.path, "work")];
  for (const path of [home, cwd]) await mkdir(path);
  for (const path of [place.path, home, cwd]) await chown(path, NOBODY, NOBODY);
  const env = { ...engineVariables(engine), HOME: home, HOLDFAST_HOME: join(home, "holdfast"), NODE_COMPILE_CACHE: undefined };
  const install = async () => (await readFile(join(env.HOLDFAST_HOME, "install-id"), "utf8")).trim();
  return {
    cwd,
    home: env.HOLDFAST_HOME,
    run: (...args: string[]) => cli.runProcess(args, { env, cwd, program: [...AS_NOBODY, process.execPath, PROGRAM] }),
    containers: async () => engine.containers(`holdfast-install=${await install()}`),
    tasks: async () => join(env.HOLDFAST_HOME, "sandboxes/docker", await install(), "default"),
  };
}

const reason = whyNot();

describeIf(["cc", "mmdebstrap", "dockerd"], `a user who is not root, on an engine that is${reason ? ` [${reason}]` : ""}`, () => {
  let engine: PrivateEngine;
  beforeAll(async () => {
    if (reason) return;
    engine = await privateEngine({ diskMib: 1024 });
    // As for a member of the group that may use it.
    await chmod(dirname(engine.directory), 0o711);
    await chmod(engine.host.slice("unix://".length), 0o666);
    return () => engine[Symbol.asyncDispose]();
  }, ENGINE_LIMIT_MS);

  test.skipIf(reason)(
    "S6 S9 as the caller's own user HOME is the home that is kept, and may be written to",
    async () => {
      const { run, tasks } = await ordinaryUser(engine);
      for (const flag of ["terminal.docker_run_as_host_user=true", "terminal.container_memory=256"])
        expect(await run("config", "set", ...flag.split("="))).toMatchObject({ status: 0 });
      const script = "echo it >~/file && cd && pwd && cat $HOME/file && id -u";
      for (const [task, setting] of Object.entries({ kept: "daemon=auto", relayed: "daemon=off", memory: "container_persistent=false" })) {
        expect(await run("config", "set", ...`terminal.${setting}`.split("="))).toMatchObject({ status: 0 });
        expect(await run("exec", "--task", task, "--", script)).toMatchObject({ status: 0, stdout: `/root\nit\n${NOBODY}\n` });
        expect(existsSync(join(await tasks(), task, "home/file"))).toBe(task !== "memory");
        expect(await run("sandbox", "rm", task)).toMatchObject({ status: 0 });
      }
    },
    LONG,
  );

  test.skipIf(reason)(
    "K27 K30 what a worker made as root leaves no set-user-id file, and goes with the workspace of its finished task",
    async () => {
      const { run, home, cwd } = await ordinaryUser(engine);
      const script = `
        mkdir -p deep/closed; cp /bin/true deep/closed/shell; cp /bin/true shell; chmod 6755 deep/closed/shell shell
        stat -c "%u %a" shell >seen; chmod 700 deep/closed; chmod 500 deep; holdfast kanban complete`;
      for (const [key, value] of Object.entries({
        "terminal.backend": "docker",
        "terminal.docker_image": BASE_IMAGE,
        "worker.command": JSON.stringify(["sh", "-c", script]),
      }))
        expect(await run("config", "set", key, value)).toMatchObject({ status: 0 });
      const finished = async (...workspace: string[]) => {
        const id = (await run("kanban", "create", "work", "--assignee", "default", ...workspace)).stdout.trim();
        expect(await run("kanban", "dispatch")).toMatchObject({ status: 0 });
        // Whoever tidies up has waited for the end of its worker.
        for (let status = ""; status !== "done"; ) status = JSON.parse((await run("kanban", "show", id, "--json")).stdout).task.status;
        return id;
      };
      const settled = async (id: string) => {
        const path = join(home, "kanban/boards/default/workspaces", id);
        for (let tries = 0; tries < 30 && existsSync(path); tries++) await run("kanban", "dispatch");
        return !existsSync(path);
      };
      await finished("--workspace", `dir:${cwd}`);
      for (let mode = 0o6755; mode !== 0o755; ) mode = (await stat(join(cwd, "shell"))).mode & 0o7777;
      expect(await readFile(join(cwd, "seen"), "utf8")).toBe("0 6755\n");
      expect((await stat(join(cwd, "deep/closed/shell"))).mode & 0o7777).toBe(0o755);

      expect(await settled(await finished())).toBe(true);
    },
    LONG,
  );

  test.skipIf(reason)(
    "S22 S30 removes what the root of its containers has made, and goes on after containers that were removed from outside",
    async () => {
      const { run, containers, tasks } = await ordinaryUser(engine);
      const script = `
        for place in /workspace ~ /holdfast/run; do
          mkdir -p $place/deep/.hidden/closed && echo root >$place/deep/.hidden/closed/file && touch $place/..odd $place/.dot
          chmod 700 $place/deep && chmod 0 $place/deep/.hidden/closed
        done
        id -u`;
      expect(await run("exec", "--", script)).toMatchObject({ status: 0, stdout: "0\n", stderr: "" });
      expect(await run("sandbox", "rm", "default", "--files")).toMatchObject({ status: 0 });
      expect(await containers()).toEqual([]);
      expect(existsSync(await tasks()) ? await readdir(await tasks()) : []).toEqual([]);

      expect(await run("exec", "--", `${script}; chmod 700 /workspace`)).toMatchObject({ status: 0, stdout: "0\n", stderr: "" });
      await engine.run(["rm", "-f", "-v", ...(await containers()).map(({ id }) => id)]);
      const next = await run("exec", "--json", "--", "ls -A /workspace");
      expect(next.status, next.stderr).toBe(0);
      expect(JSON.parse(next.stdout)).toMatchObject({ exitCode: 0, stdout: "..odd\n.dot\ndeep\n", replaced: { lost: expect.any(Array) } });
      expect(await run("sandbox", "rm", "default", "--files")).toMatchObject({ status: 0 });
      expect(existsSync(await tasks()) ? await readdir(await tasks()) : []).toEqual([]);
      // Nothing of what cleared up is left either.
      expect((await engine.run(["ps", "-aq"])).stdout).toBe("");
    },
    LONG,
  );

  test.skipIf(reason).for([
    ["root", BASE_IMAGE, "/root"],
    // Whom the host's user cannot give anything.
    ["another", USER_IMAGE, "/home/someone"],
  ] as const)(
    "S22 S30 shares with a container that runs as %s what nobody else in it gets at, also when it is started again",
    {
      timeout: LONG,
    },
    async ([, image, home]) => {
      const { run, containers, tasks } = await ordinaryUser(engine);
      const exec = (script: string) => run("exec", "-c", `terminal.docker_image=${image}`, "--", script);
      const intrude = async (id: string) => {
        const script = `cat /holdfast/run/secret; ls /holdfast/run; echo x >/holdfast/run/new; mv /holdfast/run/state /holdfast/run/other
        echo x >/workspace/new; echo x >${home}/.bashrc; ls -d /holdfast/run/* /workspace/new ${home}/.bashrc`;
        return (await engine.run(["exec", "-u", "4321", id, "sh", "-c", script])).stdout;
      };
      expect(await exec("export KEPT=yes; touch mine ~/mine; ls -A; ls -A ~")).toMatchObject({
        status: 0,
        stderr: "",
        stdout: "mine\nmine\n",
      });
      const [{ id } = { id: "" }] = await containers();
      expect(await intrude(id)).toBe("");
      expect((await engine.run(["restart", "-t", "1", id])).code).toBe(0);
      expect(await exec("echo $KEPT; touch ~/mine mine; stat -c %a /holdfast")).toMatchObject({ status: 0, stdout: "yes\n700\n" });
      expect(await intrude(id)).toBe("");
      // Its files are there for the next one, and go when they are asked to.
      await engine.run(["rm", "-f", "-v", id]);
      expect(await exec("ls; ls ~")).toMatchObject({ status: 0, stdout: "mine\nmine\n" });
      expect(await run("sandbox", "rm", "default", "--files")).toMatchObject({ status: 0 });
      expect(await containers()).toEqual([]);
      expect(existsSync(await tasks()) ? await readdir(await tasks()) : []).toEqual([]);
    },
  );
});
