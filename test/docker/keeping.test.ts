import { readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openHoldfast } from "../../src/app/open-holdfast.ts";
import { BASE_IMAGE, USER_IMAGE } from "../helpers/engine-image.ts";
import { cliBench } from "./cli-bench.ts";
import { describeEngines, LONG } from "./engine-bench.ts";

interface Listed {
  readonly task: string;
  readonly id: string;
  readonly state: string;
  readonly why: string;
}
interface Explanation {
  readonly why: string;
  readonly goes: string[];
  readonly stays: string;
  readonly history: string[];
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
}

describeEngines("keeping containers", (engine) => {
  test(
    "S30 up makes one; ls, inspect, explain and doctor tell of it, with its limits in force and what weakens it",
    async () => {
      const { run, json } = await cliBench(engine(), {
        TERMINAL_CONTAINER_CPU: "0.5",
        TERMINAL_CONTAINER_MEMORY: "128",
        TERMINAL_DOCKER_EXTRA_ARGS: '["--cap-add", "NET_RAW"]',
        TERMINAL_IDLE_STOP_SECONDS: "900",
      });
      const { sandbox, origin } = await json<{ sandbox: Listed; origin: string }>("sandbox", "up", "build");
      expect({ sandbox, origin }).toMatchObject({ origin: "created", sandbox: { task: "build", backend: "docker", state: "running" } });
      const { stdout: list } = await run("sandbox", "ls");
      expect(list).toMatch(/^TASK +PROFILE +BACKEND +STATE +CREATED +KEPT +ID$/m);
      expect(list).toMatch(new RegExp(`^build +default +docker +running +\\S+Z +persists +${sandbox.id.slice(0, 12)}$`, "m"));

      const { stdout: shown } = await run("sandbox", "inspect", "build");
      expect(shown).toMatch(/^status: running$/m);
      expect(shown).toMatch(new RegExp(`^image: (?:\\S+/)?${BASE_IMAGE}$`, "m"));
      expect(shown).toMatch(/^limits in force: cpu 0\.5 cores, memory 128 MB, disk unlimited, processes 256$/m);
      expect(shown).toMatch(/^hardening weakened by: --cap-add NET_RAW$/m);
      expect(shown).toMatch(/^configuration: as it was made$/m);
      const { stdout: doctor } = await run("doctor");
      expect(doctor).toContain("docker_extra_args weakens the hardening of new sandboxes: --cap-add NET_RAW");

      const { why, goes, stays, history } = await json<Explanation>("sandbox", "explain", "build");
      expect({ why, history }).toEqual({ why: "persists", history: [] });
      expect(goes.join("\n")).toContain("nothing has used it for 900 s (terminal.idle_stop_seconds)");
      expect(goes.join("\n")).toContain("ended more than 600 s ago goes (terminal.docker_orphan_reaper); this one runs");
      expect(stays).toContain("stay for the next one of the task");
    },
    LONG,
  );

  test(
    "S30 S31 stop refuses while something runs; files and sessions are there on the next use, which says that it was started; rm leaves nothing",
    async () => {
      const { cli, run, json, exec, containers, audited, env } = await cliBench(engine());
      await exec("--", "echo kept >~/note; echo work >/workspace/file; cd /etc; export STAGE=test");
      const [{ id = "" } = {}] = await containers();
      await run("process", "start", "--name", "watch", "--", "sleep 600");
      const busy = await run("sandbox", "stop", "default");
      expect(busy).toMatchObject({ status: 1, stdout: "", stderr: expect.stringMatching(/task default is busy with .*sleep \(\d+\)/) });
      expect(await containers()).toMatchObject([{ state: "running" }]);
      expect((await cli.run(["sandbox", "stop", "default"], { env, tty: true, input: "n\n" })).status).toBe(1);
      expect(await containers()).toMatchObject([{ state: "running" }]);

      const stopper = cli.start(["sandbox", "stop", "default", "--force"], { env, input: "" });
      expect(await stopper.ended).toMatchObject({ status: 0, stderr: "note: the sandbox of task default is stopped\n" });
      expect(await containers()).toMatchObject([{ id, state: "exited" }]);
      const [listed] = await json<Listed[]>("sandbox", "ls");
      expect(listed).toMatchObject({ id, state: "stopped", why: expect.stringMatching(/^stopped; may go from \d{4}-\S+Z on$/) });
      const { stdout: shown } = await run("sandbox", "inspect");
      expect(shown).toMatch(/^status: exited at \d{4}-\S+Z, status \d+$/m);
      expect(shown).toMatch(/^sessions: not to be seen while it is stopped$/m);
      expect(await containers()).toMatchObject([{ state: "exited" }]);
      expect((await json<Explanation>("sandbox", "explain")).goes.join("\n")).toMatch(/: this one from \d{4}-\S+Z on/);

      const { stdout } = await cli.runProcess(["exec", "--json", "--", "cat ~/note /workspace/file; pwd; echo $STAGE"], { env });
      expect(JSON.parse(stdout)).toMatchObject({ stdout: "kept\nwork\n/etc\ntest\n", restarted: true });
      expect(await containers()).toMatchObject([{ id, state: "running" }]);

      // Nothing runs in it now.
      expect((await run("sandbox", "stop", "default")).status).toBe(0);
      expect((await run("sandbox", "rm", "default", "--files")).status).toBe(0);
      expect(await containers()).toEqual([]);
      // Of this installation, not of the task.
      expect(await filesBelow(join(cli.home, "sandboxes"))).toEqual([expect.stringContaining("/docker/bin/holdfastd-")]);
      expect(await audited()).toEqual([
        {
          ...{
            time: expect.stringMatching(/^\d{4}-\S+Z$/),
            what: "stopped",
            sandbox: id,
            backend: "docker",
            profile: "default",
            task: "default",
          },
          ...{ reason: "asked for", by: { program: "holdfast sandbox stop", pid: stopper.child.pid, host: hostname() } },
        },
        expect.objectContaining({ what: "stopped", sandbox: id, by: expect.objectContaining({ pid: process.pid }) }),
        expect.objectContaining({
          what: "removed",
          sandbox: id,
          reason: "asked for",
          by: expect.objectContaining({ program: "holdfast sandbox rm" }),
        }),
      ]);
      const { history } = await json<Explanation>("sandbox", "explain");
      expect(history).toEqual([
        expect.stringContaining(`${id} was stopped: asked for; by holdfast sandbox stop, process ${stopper.child.pid}`),
        expect.stringContaining("was stopped"),
        expect.stringContaining(`${id} was removed: asked for; by holdfast sandbox rm`),
      ]);
    },
    LONG,
  );

  test(
    "S22 the files of a sandbox that keeps them stay when it is removed or reset, which says where, and go with --files",
    async () => {
      const { run, json, exec, placeOf } = await cliBench(engine());
      await exec("--", "echo work >/workspace/file");
      const place = await placeOf("default");
      const workspace = join(place, "workspace");
      const reset = await json<{ removed: Listed; kept: string[]; made: Listed }>("sandbox", "reset", "default");
      expect(reset.kept).toEqual([workspace]);
      expect(reset.made.id).not.toBe(reset.removed.id);
      expect(await exec("--", "cat file; echo it >~/note")).toBe("work");
      const removed = await run("sandbox", "rm", "default");
      const where = `the files in ${workspace} and ${join(place, "home")} stay (--files removes them as well)`;
      expect(removed).toEqual({ status: 0, stdout: "", stderr: `note: the sandbox of task default is gone; ${where}\n` });
      expect((await readdir(place)).sort()).toEqual(["home", "workspace"]);
      // Also when it is asked for again, with no sandbox there.
      expect((await run("sandbox", "rm", "default")).stderr).toContain(where);
      expect(await exec("--", "cat file ~/note")).toBe("work\nit");
      expect(await json("sandbox", "reset", "default", "--files")).toMatchObject({ kept: [] });
      expect(await exec("--", "ls -A /workspace ~")).not.toMatch(/file|note/);
      expect(await json("sandbox", "rm", "default")).toMatchObject({ kept: [] });
      expect(await filesBelow(place).catch(() => [])).toEqual([]);
    },
    LONG,
  );

  test(
    "S30 a program that stops the sandbox which it uses itself goes on in it, and hears that it was started again",
    async () => {
      const { cli, env, containers } = await cliBench(engine());
      await using hf = await openHoldfast({ environment: { ...cli.env, ...env }, cwd: cli.directory });
      const box = await hf.sandbox();
      await box.run("export STAGE=test");
      await box.start("sleep 600");
      await expect(hf.sandboxes.stop("default")).rejects.toMatchObject({ code: "busy" });
      await hf.sandboxes.stop("default", { force: true });
      expect(await containers()).toMatchObject([{ state: "exited" }]);
      expect(await box.run("echo $STAGE")).toMatchObject({ stdout: "test\n", restarted: true });
      expect(await box.run("echo $STAGE")).toMatchObject({ stdout: "test\n", restarted: false });
    },
    LONG,
  );

  test(
    "S45 two tasks have images of their own at once, in every process, and one that cannot be had is refused until it is forgotten",
    async () => {
      const { cli, run, json, exec } = await cliBench(engine());
      await json("sandbox", "up", "one");
      await json("sandbox", "up", "two", "--image", USER_IMAGE);
      expect(await Promise.all([exec("-t", "one", "--", "id -u"), exec("-t", "two", "--", "id -u")])).toEqual(["0", "1000"]);
      expect((await json<Listed[]>("sandbox", "ls")).map(({ task }) => task)).toEqual(["one", "two"]);
      for (const [task, image] of [["one", BASE_IMAGE] as const, ["two", USER_IMAGE] as const]) {
        const description = { image: expect.stringMatching(new RegExp(`(?:^|/)${image}$`)) };
        expect(await json("sandbox", "inspect", task)).toMatchObject({ task, drift: [], description });
      }
      expect((await run("sandbox", "up", "two", "--image", BASE_IMAGE)).stderr).toContain("task two has a sandbox already");
      expect((await run("sandbox", "rm", "two")).status).toBe(0);
      expect(await readdir(join(cli.home, "tasks"))).toEqual([]);
      expect(await exec("-t", "two", "--", "id -u")).toBe("0");

      // No engine asks anybody for an image of this name.
      const missing = "NONE:never";
      const failed = await run("sandbox", "up", "three", "--image", missing);
      const refusal = /NONE:never|must be lowercase/;
      expect(failed).toMatchObject({ status: 1, stderr: expect.stringMatching(refusal) });
      expect((await run("exec", "-t", "three", "true")).stderr).toMatch(refusal);
      expect(await json("sandbox", "rm", "three")).toEqual({ removed: null, kept: [] });
      expect(await exec("-t", "three", "--", "id -u")).toBe("0");
    },
    LONG,
  );

  test(
    "S45 a task has a backend and an image of its own where another backend is configured; saying so again, or in part, changes nothing",
    async () => {
      const { run, json, exec, containers, cli, env } = await cliBench(engine(), { TERMINAL_BACKEND: "local" });
      await json("sandbox", "up", "two", "--backend", "docker", "--image", USER_IMAGE);
      for (const part of [["--image", USER_IMAGE], ["--backend", "docker"], []])
        expect(await json("sandbox", "up", "two", ...part)).toMatchObject({ origin: "found", sandbox: { backend: "docker" } });
      expect(await exec("-t", "two", "--", "id -u; pwd")).toBe("1000\n/workspace");
      expect(await exec("--", "pwd")).toBe(cli.directory);
      const listed = await json<Listed[]>("sandbox", "ls");
      expect(listed).toMatchObject([
        { task: "default", backend: "local" },
        { task: "two", backend: "docker", id: (await containers())[0]?.id },
      ]);
      // A flag wins, and leads to a sandbox that has nothing of the other.
      const flagged = await cli.run(["exec", "-t", "two", "-c", "terminal.backend=local", "--", "pwd"], { env });
      expect(flagged.stdout).toBe(`${cli.directory}\n`);
      expect((await run("sandbox", "rm", "two")).status).toBe(0);
      expect(await containers()).toEqual([]);
      expect(await readdir(join(cli.home, "tasks"))).toEqual([]);
    },
    LONG,
  );

  test(
    "S10 variables that the engine's client would heed itself reach commands all the same, and a session may change them",
    async () => {
      const given = {
        HTTPS_PROXY: "http://user:hush@proxy:1",
        DOCKER_HOST: "tcp://nowhere:1",
        DOCKER_CONFIG: "/nowhere",
        PLAIN: "a 'b' \"c\" # $d",
      };
      const variables = JSON.stringify({ PATH: "/opt/own:/usr/bin:/bin", ...given });
      const { exec, placeOf, run } = await cliBench(engine(), { TERMINAL_DOCKER_ENV: variables });
      const printed = Object.keys(given).map((name) => `"$${name}"`);
      expect(await exec("--", `printf '%s\\n' ${printed.join(" ")}`)).toBe(Object.values(given).join("\n"));
      // The image's profile adds to it.
      const path = await exec("--", 'echo "$PATH"');
      expect(path).toMatch(/^\/opt\/own:.*\/usr\/bin:/);
      await exec("--", "export PATH=/first:$PATH; unset HTTPS_PROXY");
      expect(await exec("--", 'echo "$PATH ${HTTPS_PROXY-none}"')).toBe(`/first:${path} none`);
      expect(await exec("-s", "other", "--", 'echo "$PATH"')).toBe(path);
      expect((await readdir(await placeOf("default"))).sort()).toEqual(["home", "run", "sandbox.json", "workspace"]);
      expect((await run("sandbox", "inspect")).stdout).not.toContain("hush");
    },
    LONG,
  );
});
