import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openHoldfast } from "../../src/app/open-holdfast.ts";
import { sandboxPrune } from "../../src/app/operations/sandbox-prune.ts";
import { testEngine } from "../helpers/engine.ts";
import { describeIf } from "../helpers/requirements.ts";
import { type CliBench, cliBench } from "./cli-bench.ts";
import { LONG } from "./engine-bench.ts";

const DRIFTED = { TERMINAL_CONTAINER_MEMORY: "256", TERMINAL_DOCKER_ON_DRIFT: "recreate" };
const FLEETING = { TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "false" };
const DAY = 86_400;

/** All that only looks, each as a process of its own, with the configuration changed since the sandbox was made. */
async function look({ cli, env }: CliBench) {
  const changed = { env: { ...env, ...DRIFTED } };
  const verbs = [
    ["sandbox", "inspect"],
    ["process", "ls"],
    ["session", "ls"],
  ];
  const [inspected, processes, sessions] = await Promise.all(verbs.map((verb) => cli.runProcess([...verb, "--json"], changed)));
  return { inspected, processes, sessions };
}

describeIf(["cc", "mmdebstrap", "dockerd"], "looking at containers", () => {
  test(
    "S17 S30 makes, replaces and starts nothing, whatever has changed in the configuration",
    async () => {
      const bench = await cliBench(await testEngine());
      const { run, exec, containers } = bench;
      await exec("--", "echo mine >/opt/note");
      const before = await containers();
      // One in which something runs would not be replaced anyway.
      const seen = await look(bench);
      expect(seen).toMatchObject({ inspected: { status: 0 }, processes: { status: 0 }, sessions: { status: 0 } });
      expect(JSON.parse(seen.inspected?.stdout ?? "")).toMatchObject({ id: before[0]?.id, drift: [{ setting: "memory" }] });
      expect(JSON.parse(seen.processes?.stdout ?? "")).toEqual([]);
      expect(JSON.parse(seen.sessions?.stdout ?? "")).toMatchObject([{ name: "default" }]);
      expect(await containers()).toEqual(before);
      expect(await exec("--", "cat /opt/note")).toBe("mine");

      await run("process", "start", "--name", "watch", "--", "sleep 600");
      await run("sandbox", "stop", "--force", "default");
      const stopped = await look(bench);
      expect(stopped).toMatchObject({ inspected: { status: 0 }, processes: { status: 0, stderr: "" } });
      expect(JSON.parse(stopped.processes?.stdout ?? "")).toEqual([]);
      expect(stopped.sessions).toMatchObject({ status: 1 });
      expect(JSON.parse(stopped.sessions?.stderr ?? "")).toMatchObject({ error: { code: "sandbox-stopped" } });
      expect(await containers()).toMatchObject([{ id: before[0]?.id, state: "exited" }]);
    },
    LONG,
  );

  test(
    "S16 S30 at a task whose only container is that of a process which shares it with nobody makes no second one",
    async () => {
      const bench = await cliBench(await testEngine());
      const { cli, env, json, containers } = bench;
      await using holdfast = await openHoldfast({ environment: { ...cli.env, ...env, ...FLEETING }, cwd: cli.directory });
      expect((await (await holdfast.sandbox()).run("echo in")).stdout).toBe("in\n");
      const before = await containers();
      expect(before).toHaveLength(1);
      expect(await json("sandbox", "inspect")).toMatchObject({ id: before[0]?.id, state: "running" });
      expect(await json("process", "ls")).toEqual([]);
      expect(await containers()).toEqual(before);
    },
    LONG,
  );

  test(
    "S30 a paused one is shown as running, and nothing prunes it",
    async () => {
      const bench = await cliBench(await testEngine());
      const { json, exec, containers, later, engine: itself } = bench;
      await exec("--", "true");
      const [{ id = "" } = {}] = await containers();
      await itself.run(["pause", id]);
      try {
        expect(await json("sandbox", "ls")).toMatchObject([{ id, state: "running" }]);
        const { pruned } = await sandboxPrune.run(await later(30 * DAY), { all: false, dryRun: false, files: true });
        expect(pruned).toEqual([]);
        expect(await containers()).toMatchObject([{ id, state: "paused" }]);
      } finally {
        await itself.run(["unpause", id]);
      }
      expect(await exec("--", "echo on")).toBe("on");
    },
    LONG,
  );
});

describeIf(["cc", "mmdebstrap", "dockerd"], "the command line and containers that go", () => {
  test(
    "S20 one that was removed from outside between two command lines is told by the next, once, with what is lost",
    async () => {
      const { cli, env, exec, containers, engine: itself } = await cliBench(await testEngine());
      await exec("--", "echo kept >/workspace/note; echo gone >/opt/note");
      await itself.run(["rm", "-f", (await containers())[0]?.id ?? ""]);
      const call = async () => JSON.parse((await cli.runProcess(["exec", "--json", "--", "cat /workspace/note"], { env })).stdout);
      expect(await call()).toMatchObject({
        stdout: "kept\n",
        replaced: { lost: expect.arrayContaining(["files outside its home and workspace, installed packages among them"]) },
      });
      expect(await call()).toMatchObject({ stdout: "kept\n", replaced: null });
    },
    LONG,
  );

  test(
    "S16 what is to outlive the command line is refused where the sandbox would not",
    async () => {
      const { run, containers, exec } = await cliBench(await testEngine(), FLEETING);
      expect(await exec("--", "echo fine")).toBe("fine");
      for (const verb of [
        ["process", "start", "--json", "--", "sleep 600"],
        ["sandbox", "up", "--json"],
      ]) {
        const { status, stdout, stderr } = await run(...verb);
        expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
        expect(JSON.parse(stderr)).toMatchObject({
          error: { code: "unsupported", hint: expect.stringContaining("docker_persist_across_processes") },
        });
      }
      expect(await containers()).toEqual([]);
    },
    LONG,
  );

  test(
    "S22 S30 rm of a task whose container is gone removes the files that it has left only when that is asked for",
    async () => {
      const bench = await cliBench(await testEngine());
      const { run, exec, containers, placeOf, engine: itself } = bench;
      await exec("-t", "build", "--", "echo old >/workspace/note");
      await exec("-t", "other", "--", "echo kept >/workspace/note");
      const place = await placeOf("build");
      await itself.run(["rm", "-f", ...(await containers()).map(({ id }) => id)]);
      expect(await run("sandbox", "rm", "build")).toMatchObject({ status: 0, stderr: expect.stringContaining(join(place, "workspace")) });
      expect(await readFile(join(place, "workspace/note"), "utf8")).toBe("old\n");
      const { status, stderr } = await run("sandbox", "rm", "build", "--files");
      expect({ status, stderr }).toMatchObject({ status: 0 });
      expect(existsSync(place)).toBe(false);
      expect(await readFile(join(await placeOf("other"), "workspace/note"), "utf8")).toBe("kept\n");
    },
    LONG,
  );
});
