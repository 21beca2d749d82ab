import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sandboxPrune } from "../../src/app/operations/sandbox-prune.ts";
import { sandboxUp } from "../../src/app/operations/sandbox-up.ts";
import { eventually } from "../daemon/machine.ts";
import type { TestEngine } from "../helpers/engine.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { type CliBench, cliBench } from "./cli-bench.ts";
import { describeEngines, LONG } from "./engine-bench.ts";

const LONG_AGO = 601;
const NONE = { status: 0, stdout: "", stderr: "note: there is nothing to remove\n" };

/** What goes, that many seconds from now. */
async function pruneLater({ later }: CliBench, options: { dryRun?: boolean; files?: boolean } = {}) {
  const input = { all: false, dryRun: false, files: false, ...options };
  const { pruned } = await sandboxPrune.run(await later(LONG_AGO), input);
  expect(pruned.filter(({ problem }) => problem !== null)).toEqual([]);
  return pruned.map(({ what }) => what).sort();
}

/** A client of the engine that never comes to make a container. */
async function stuckClient(engine: TestEngine): Promise<{ binary: string; started(): Promise<void> }> {
  const place = await temporaryDirectory();
  const [binary, note] = [join(place.path, "engine"), join(place.path, "pid")];
  await writeFile(binary, `#!/bin/sh\n[ "$1" = run ] && echo $$ >'${note}' && exec sleep 600\nexec ${engine.binary} "$@"\n`, {
    mode: 0o755,
  });
  const pid = async () => Number(existsSync(note) ? await readFile(note, "utf8") : 0);
  onTestFinished(async () => {
    if ((await pid()) > 0) process.kill(await pid(), "SIGKILL");
    await place[Symbol.asyncDispose]();
  });
  return { binary, started: () => eventually(async () => (await pid()) > 0, "the client was started") };
}

describeEngines("pruning containers", (engine) => {
  test(
    "S30 S31 what ended long ago goes, and nothing that runs, was just stopped or is work of people; each removal is written down",
    async () => {
      const bench = await cliBench(engine());
      const { run, json, exec, containers, placeOf, audited } = bench;
      await exec("-t", "old", "--", "echo precious >/workspace/note; echo mine >~/note");
      await exec("-t", "running", "--", "true");
      const { id } = await json<{ id: string }>("sandbox", "inspect", "old");
      await run("sandbox", "stop", "old");
      expect(await run("sandbox", "prune")).toEqual(NONE);
      const old = await placeOf("old");

      expect(await pruneLater(bench, { dryRun: true })).toEqual([`sandbox ${id} of task old`]);
      expect(await containers()).toHaveLength(2);
      expect(await pruneLater(bench)).toEqual([`sandbox ${id} of task old`]);
      expect((await json<{ task: string }[]>("sandbox", "ls")).map(({ task }) => task)).toEqual(["running"]);
      expect((await readdir(old)).sort()).toEqual(["home", "workspace"]);

      // The files are asked for by name, and seen before they go.
      expect(await run("sandbox", "prune")).toEqual(NONE);
      const dry = await run("sandbox", "prune", "--files", "--dry-run");
      expect(dry).toMatchObject({ status: 0, stderr: "" });
      expect(dry.stdout).toMatch(/^WHAT +WHY +PROFILE +RESULT$/m);
      for (const name of ["home", "workspace"])
        expect(dry.stdout).toMatch(new RegExp(`^${join(old, name)} +files .* +default +would go$`, "m"));
      expect(await readFile(join(old, "workspace/note"), "utf8")).toBe("precious\n");
      expect((await run("sandbox", "prune", "--files")).stdout).toContain(" gone\n");
      expect(existsSync(old)).toBe(false);

      expect(await audited()).toMatchObject([
        { what: "stopped", sandbox: id },
        { what: "removed", sandbox: id, backend: "docker", task: "old", reason: "pruned", by: { program: "the test", pid: process.pid } },
        { what: "cleared", sandbox: join(old, "workspace"), by: { program: "holdfast sandbox prune" } },
        { what: "cleared", sandbox: join(old, "home"), reason: expect.stringMatching(/^pruned: files/) },
      ]);
      expect(await exec("-t", "running", "--", "echo on")).toBe("on");
    },
    LONG,
  );

  test(
    "S28 S31 what the orphan reaper takes is written down as well",
    async () => {
      const { run, exec, containers, later, audited } = await cliBench(engine());
      await exec("-t", "old", "--", "true");
      const [{ id = "" } = {}] = await containers();
      await run("sandbox", "stop", "old");
      await sandboxUp.run(await later(LONG_AGO), { task: "new", image: undefined, backend: undefined });
      expect((await audited()).slice(1)).toMatchObject([
        { what: "removed", sandbox: id, backend: "docker", task: "old", reason: "orphaned", by: { program: "the test" } },
      ]);
      expect((await containers()).map((container) => container.id)).not.toContain(id);
    },
    LONG,
  );

  test(
    "S30 what a killed maker left goes, secrets and all, when it can be at work no more",
    async () => {
      const bench = await cliBench(engine(), { TERMINAL_DOCKER_ENV: '{"HTTPS_PROXY":"http://user:hush@proxy:1"}' });
      const { cli, run, env, placeOf, exec } = bench;
      const stuck = await stuckClient(engine());
      const maker = cli.start(["sandbox", "up", "build"], { env: { ...env, HOLDFAST_DOCKER_BINARY: stuck.binary }, input: "" });
      await stuck.started();
      maker.child.kill("SIGKILL");
      await maker.ended;
      const place = await placeOf("build");
      const variables = (await readdir(place)).filter((name) => name.startsWith("env-"));
      expect(variables).toHaveLength(1);
      expect(await run("sandbox", "prune")).toEqual(NONE);
      expect(await pruneLater(bench, { files: true })).toContain(join(place, variables[0] ?? ""));
      expect(existsSync(place)).toBe(false);
      expect(await exec("-t", "build", "--", "echo fine")).toBe("fine");
    },
    LONG,
  );

  test(
    "S30 what is left of a container that was removed from outside goes; its files wait for the next one",
    async () => {
      const bench = await cliBench(engine());
      const { exec, containers, placeOf, engine: itself } = bench;
      await exec("--", "echo kept >/workspace/note");
      const [{ id = "" } = {}] = await containers();
      await itself.run(["rm", "-f", id]);
      const place = await placeOf("default");
      const gone = await pruneLater(bench);
      expect(gone).toEqual([expect.stringMatching(`^${join(place, "run")}/\\d+$`), join(place, "sandbox.json")]);
      expect((await readdir(place)).sort()).toEqual(["workspace"]);
      expect(await exec("--", "cat /workspace/note")).toBe("kept");
    },
    LONG,
  );

  test(
    "S30 S45 also of a task that has chosen this backend for itself",
    async () => {
      const bench = await cliBench(engine(), { TERMINAL_BACKEND: "local" });
      const { run, containers, placeOf, engine: itself } = bench;
      await run("sandbox", "up", "build", "--backend", "docker");
      await itself.run(["rm", "-f", (await containers())[0]?.id ?? ""]);
      expect(await pruneLater(bench, { files: true })).toContain(join(await placeOf("build"), "sandbox.json"));
      expect(existsSync(await placeOf("build"))).toBe(false);
    },
    LONG,
  );
});
