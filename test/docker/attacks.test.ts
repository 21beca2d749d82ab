import { existsSync } from "node:fs";
import { copyFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { openHoldfast } from "../../src/app/open-holdfast.ts";
import { systemClock } from "../../src/base/clock.ts";
import { randomId } from "../../src/base/ids.ts";
import { listDirectory } from "../../src/base/list-directory.ts";
import { eventually } from "../daemon/machine.ts";
import { LIBRARY } from "../helpers/cli.ts";
import { buildDaemon } from "../helpers/daemon.ts";
import { ENGINE_LIMIT_MS, type TestEngine, testEngine } from "../helpers/engine.ts";
import { BASE_IMAGE } from "../helpers/engine-image.ts";
import { describeIf } from "../helpers/requirements.ts";
import { type CliBench, cliBench } from "./cli-bench.ts";
import { containerSpec, engineBench, LONG } from "./engine-bench.ts";

const NEEDS = ["cc", "mmdebstrap", "dockerd"] as const;
const FLEETING = { TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "false" };
const MONTH_MS = 30 * 86_400_000;
const MANY = 5_000;
const MEBIBYTE = 1024 * 1024;

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine();
}, ENGINE_LIMIT_MS);

/** A program that uses the library: it makes one call, says how that ended, and goes on. `under` runs it. */
async function callByProgram({ cli, env }: CliBench, { under = [] }: { under?: readonly string[] } = {}) {
  const code = `
    import { openHoldfast } from ${JSON.stringify(LIBRARY)};
    const holdfast = await openHoldfast();
    const said = await holdfast.sandbox().then((box) => box.run("true")).then(() => "it worked", (error) => error.code);
    await holdfast.close().catch(() => {});
    console.log(JSON.stringify({ said, peak: process.resourceUsage().maxRSS * 1024 }));`;
  const program = [...under, process.execPath, "--max-old-space-size=256", "--input-type=module", "--eval", code];
  const { status, stdout, stderr } = await cli.runProcess([], { env, program });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as { said: string; peak: number };
}

describeIf([...NEEDS], "what others do at the same moment", () => {
  test(
    "S30 a sandbox that another process makes while rm removes the one before keeps its workspace",
    async () => {
      const { cli, env, exec, containers, placeOf } = await cliBench(engine);
      await exec("--", `cd /workspace && mkdir many && cd many && seq ${MANY} | xargs touch`);
      const many = join(await placeOf("default"), "workspace/many");
      const removal = cli.start(["sandbox", "rm", "default", "--force", "--files"], { env, input: "" });
      onTestFinished(() => void removal.child.kill("SIGKILL"));
      await eventually(() => listDirectory(many).length < MANY, "the files are being removed");
      removal.child.kill("SIGSTOP");
      const made = await cli.runProcess(["exec", "--", "echo new >/workspace/note"], { env });
      expect(made.status, made.stderr).toBe(0);
      removal.child.kill("SIGCONT");
      expect(await removal.ended).toMatchObject({ status: 0 });
      expect(await exec("--", "cat /workspace/note; echo more >/workspace/more; ls /workspace; cd ~ && pwd >here")).toBe("new\nmore\nnote");
      expect(await containers()).toHaveLength(1);
    },
    LONG,
  );

  test(
    "S30 what a removal that was killed has left goes with the next one",
    async () => {
      const { run, exec, containers, placeOf } = await cliBench(engine);
      await exec("--", "echo old >/workspace/note");
      const place = await placeOf("default");
      // As far as it comes before it begins to empty them.
      await engine.run(["rm", "-f", "-v", ...(await containers()).map(({ id }) => id)]);
      await rm(join(place, "sandbox.json"));
      for (const name of ["run", "home", "workspace"]) await rename(join(place, name), join(place, `gone-${name}`));
      expect(await run("sandbox", "rm", "default")).toMatchObject({ status: 0 });
      expect(existsSync(place)).toBe(false);
    },
    LONG,
  );

  test(
    "S28 one that was started after it had been listed as ended is not removed",
    async () => {
      const bench = await engineBench(engine);
      const driver = await bench.driver();
      const ref = await driver.create(bench.owner(), containerSpec());
      await expect(driver.destroy(ref, { ended: true })).rejects.toMatchObject({ code: "backend-broken" });
      expect(await bench.containers()).toMatchObject([{ id: ref.id, state: "running" }]);
      expect(existsSync(join(bench.placeOf(), "sandbox.json"))).toBe(true);
      await using connection = await (await bench.driver()).connect(ref);
      expect(connection.restarted).toBe(false);
    },
    LONG,
  );

  test(
    "S30 rm without force is refused when any of the task's containers is busy",
    async () => {
      const { cli, env, run, exec, containers } = await cliBench(engine);
      await exec("--", "true");
      await using holdfast = await openHoldfast({ environment: { ...cli.env, ...env, ...FLEETING }, cwd: cli.directory });
      await (await holdfast.sandbox()).start("sleep 600");
      const before = await containers();
      expect(before).toHaveLength(2);
      expect(await run("sandbox", "rm", "default")).toMatchObject({ status: 1, stderr: expect.stringContaining("is busy with") });
      expect(await containers()).toEqual(before);
    },
    LONG,
  );
});

describeIf([...NEEDS], "containers and files of others", () => {
  test(
    "S22 keeping files no more, and then again, loses none of those that were kept",
    async () => {
      const { cli, env, exec } = await cliBench(engine, { TERMINAL_DOCKER_ON_DRIFT: "recreate" });
      await exec("--", "echo kept | tee /workspace/note >~/note");
      const call = (persistent: string) =>
        cli.runProcess(["exec", "--", "cat ~/note; cat /workspace/note"], { env: { ...env, TERMINAL_CONTAINER_PERSISTENT: persistent } });
      expect(await call("false")).toMatchObject({ stdout: "", status: 1 });
      expect(await call("true")).toMatchObject({ stdout: "kept\nkept\n", status: 0 });
    },
    LONG,
  );

  test(
    "S12 an adopted one that cannot be started, or ends at once, is not removed",
    async () => {
      const bench = await engineBench(engine);
      const source = join(bench.directory, "source");
      await mkdir(source);
      const adopt = async (task: string, ...args: string[]) => {
        const labels = ["hermes-agent=1", `hermes-task-id=${task}`, "hermes-profile=default"].flatMap((label) => ["--label", label]);
        const id = await bench.ask("run", "-d", "--network", "none", ...labels, ...args);
        onTestFinished(async () => {
          const left = await engine.containers(`hermes-task-id=${task}`);
          await engine.run(["rm", "-f", "-v", ...left.map((container) => container.id)]);
        }, LONG);
        await bench.ask("stop", "-t", "0", id);
        return id;
      };
      const [stuck, short] = [`stuck-${randomId(6)}`, `short-${randomId(6)}`];
      const ids = [
        await adopt(stuck, "--mount", `type=bind,source=${source},target=/data`, BASE_IMAGE, "sleep", "600"),
        await adopt(short, BASE_IMAGE, "true"),
      ];
      await rm(source, { recursive: true });
      const settings = { label_prefix: "hermes" };
      const lifecycle = bench.lifecycle(await bench.driver({ settings }));
      const { sandbox } = await lifecycle.acquire(bench.owner(stuck), containerSpec());
      expect(ids).not.toContain(sandbox.ref.id);
      await expect(lifecycle.acquire(bench.owner(short), containerSpec())).rejects.toMatchObject({ code: "sandbox-create-failed" });
      for (const id of ids) expect(await bench.ask("inspect", "--format", "{{.State.Status}}", id)).toBe("exited");
    },
    LONG,
  );

  test(
    "S12 S28 a user's container of an image that was made from a sandbox is neither listed, entered, reaped nor removed",
    async () => {
      const bench = await engineBench(engine);
      const first = await (await bench.process()).acquire(bench.owner(), containerSpec());
      const image = `holdfast-test:committed-${randomId(4)}`;
      await bench.ask("commit", first.sandbox.ref.id, image);
      const id = await bench.ask("run", "-d", "--network", "none", "--entrypoint", "sleep", image, "600");
      onTestFinished(async () => {
        await engine.run(["rm", "-f", "-v", id]);
        await engine.run(["rmi", "-f", image]);
      }, LONG);
      const driver = await bench.driver();
      const listed = async () => (await driver.list({ install: bench.owner().install })).map((ref) => ref.id);
      expect(await listed()).toEqual([first.sandbox.ref.id]);
      await (await bench.process()).releaseTask(bench.owner(), { forceRemove: true, purge: true });
      expect(await listed()).toEqual([]);
      expect(await bench.containers()).toMatchObject([{ id, state: "running" }]);

      const second = await (await bench.process()).acquire(bench.owner(), containerSpec());
      expect(second).toMatchObject({ origin: "created" });
      await bench.ask("stop", "-t", "0", id);
      const reaping = await bench.driver({ now: () => systemClock.now() + MONTH_MS });
      await reaping.create(bench.owner("another"), containerSpec());
      expect((await bench.containers()).map((container) => container.id)).toContain(id);
    },
    LONG,
  );
});

describeIf([...NEEDS], "what is damaged", () => {
  test(
    "S14 without a record that can be read the sandbox is found by its labels, and rm leaves nothing of it",
    async () => {
      const { cli, env, exec, containers, placeOf } = await cliBench(engine);
      await exec("--", "echo kept >/opt/note");
      const [{ id = "" } = {}] = await containers();
      const place = await placeOf("default");
      for (const damaged of ["{", '{"version":1}', ""]) {
        await writeFile(join(place, "sandbox.json"), damaged);
        expect(await cli.runProcess(["exec", "--", "cat /opt/note"], { env })).toMatchObject({ status: 0, stdout: "kept\n" });
      }
      expect(await containers()).toMatchObject([{ id }]);
      await writeFile(join(place, "sandbox.json"), "{");
      expect((await cli.runProcess(["sandbox", "rm", "default"], { env })).status).toBe(0);
      expect(await containers()).toEqual([]);
      expect(existsSync(place)).toBe(false);
    },
    LONG,
  );

  test(
    "S14 S19 a container that has deleted its secret and its socket is started by the next use after it was stopped",
    async () => {
      const { cli, env, exec, containers } = await cliBench(engine);
      await exec("--", "echo kept >/opt/note");
      const [{ id = "" } = {}] = await containers();
      expect(await engine.run(["exec", id, "rm", "/holdfast/run/secret", "/holdfast/run/socket"])).toMatchObject({ code: 0 });
      await engine.run(["stop", "-t", "0", id]);
      const { stdout } = await cli.runProcess(["exec", "--json", "--", "cat /opt/note"], { env });
      expect(JSON.parse(stdout)).toMatchObject({ stdout: "kept\n", restarted: true, replaced: null });
      expect(await containers()).toMatchObject([{ id, state: "running" }]);
    },
    LONG,
  );

  test(
    "S14 a container that cannot be reached in any way fails the call, and not the program that made it",
    async () => {
      const bench = await cliBench(engine);
      await bench.exec("--", "true");
      const [{ id = "" } = {}] = await bench.containers();
      const script = "pkill -STOP holdfastd; rm /holdfast/run/secret /holdfast/run/socket";
      expect(await engine.run(["exec", id, "sh", "-c", script])).toMatchObject({ code: 0 });
      expect((await callByProgram(bench)).said).toMatch(/^(?:daemon-failed|sandbox-lost)$/);
    },
    LONG,
  );

  test.each([
    ["as soon as it is opened", ""],
    ["when its files are read", '[ "$1" = -- ] || exec /bin/endless "$@"'],
  ])(
    "without holdfastd, a program of the sandbox that writes for ever %s ends in an error and fills no memory",
    async (_, unless) => {
      const bench = await cliBench(engine, { TERMINAL_DAEMON: "off" });
      const made = await bench.cli.runProcess(["exec", "--", "true"], { env: bench.env });
      expect(made.status, made.stderr).toBe(0);
      const [{ id = "" } = {}] = await bench.containers();
      const forged = `#!/bin/sh\n${unless}\nexec /bin/endless /dev/zero\n`;
      const script = 'mv "$(command -v cat)" /bin/endless && printf %s "$1" >/bin/cat && chmod 755 /bin/cat';
      expect(await engine.run(["exec", id, "sh", "-c", script, "sh", forged])).toMatchObject({ code: 0 });
      // The system's own limit, so that a defect ends this program and not the machine.
      const { said, peak } = await callByProgram(bench, { under: ["prlimit", `--data=${2048 * MEBIBYTE}`] });
      expect(said).toMatch(/^[a-z]+(?:-[a-z]+)+$/);
      expect(peak).toBeLessThan(600 * MEBIBYTE);
    },
    LONG,
  );

  test(
    "S4 a container starts again when the installation that made it has moved",
    async () => {
      const bench = await engineBench(engine);
      const [daemonProgram, moved] = [join(bench.directory, "before/holdfastd"), join(bench.directory, "after/holdfastd")];
      for (const path of [daemonProgram, moved]) {
        await mkdir(join(path, ".."));
        await copyFile(await buildDaemon("release"), path);
      }
      const driver = await bench.driver({ daemonProgram });
      const { sandbox } = await bench.lifecycle(driver).acquire(bench.owner(), containerSpec());
      await sandbox.run("echo kept >/opt/note");
      await bench.ask("stop", "-t", "0", sandbox.ref.id);
      await rm(join(bench.directory, "before"), { recursive: true });
      const again = await bench.lifecycle(await bench.driver({ daemonProgram: moved })).acquire(bench.owner(), containerSpec());
      expect(again.sandbox.ref.id).toBe(sandbox.ref.id);
      expect(await again.sandbox.run("cat /opt/note")).toMatchObject({ stdout: "kept\n", restarted: true });
    },
    LONG,
  );
});
