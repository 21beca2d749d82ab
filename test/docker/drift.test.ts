import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { OnDrift } from "../../src/lifecycle/lifecycle.ts";
import type { SandboxSpec } from "../../src/sandbox/spec.ts";
import { BASE_IMAGE, USER_IMAGE } from "../helpers/engine-image.ts";
import { cliBench } from "./cli-bench.ts";
import { containerSpec, describeEngines, type EngineBench, engineBench, LONG } from "./engine-bench.ts";

const before = containerSpec({ image: BASE_IMAGE });

/** What the first process leaves there, which then ends. */
async function madeBefore(bench: EngineBench, command = "true"): Promise<string> {
  const lifecycle = await bench.process();
  const { sandbox } = await lifecycle.acquire(bench.owner(), before);
  await sandbox.run(command);
  await lifecycle.close();
  bench.logged.length = 0;
  return sandbox.ref.id;
}

/** With another image and a mount more. */
async function changed(bench: EngineBench): Promise<SandboxSpec> {
  const source = join(bench.directory, "data");
  await mkdir(source, { recursive: true });
  await writeFile(join(source, "note"), "from the host\n");
  return { ...before, image: USER_IMAGE, mounts: [{ source, target: "/data", readOnly: true }] };
}

const comeBack = async (bench: EngineBench, spec: SandboxSpec, onDrift: OnDrift) =>
  bench.lifecycle(await bench.driver(), { onDrift }).acquire(bench.owner(), spec);

const warnings = ({ logged }: EngineBench) => logged.filter(({ level }) => level === "warn").map(({ message }) => message);

describeEngines("a container that was made with other settings", (engine) => {
  test(
    "S17 is used as it is, with a warning that names exactly what differs, or without a word",
    async () => {
      const bench = await engineBench(engine());
      const id = await madeBefore(bench);
      const spec = await changed(bench);
      const said = `image (made with: ${BASE_IMAGE}; now: ${USER_IMAGE}), mount at /data (made with: not there; now: ${bench.directory}/data, read-only)`;
      const warned = await comeBack(bench, spec, "warn");
      expect(warned).toMatchObject({ origin: "found", sandbox: { ref: { id } } });
      expect((await warned.sandbox.run("ls /data")).exitCode).not.toBe(0);
      expect(warnings(bench)).toEqual([
        `the sandbox of task default was made with other settings: ${said}; it is used as it is (\`holdfast sandbox reset default\` makes a new one)`,
      ]);

      bench.logged.length = 0;
      expect(await comeBack(bench, spec, "reuse")).toMatchObject({ origin: "found", sandbox: { ref: { id } } });
      expect(warnings(bench)).toEqual([]);

      // Also when it is stopped, and found by its labels.
      await bench.ask("stop", "-t", "0", id);
      const started = await comeBack(bench, spec, "warn");
      expect(started.sandbox.ref.id).toBe(id);
      expect(warnings(bench)).toEqual([expect.stringContaining(said)]);
      expect((await bench.containers()).map((container) => container.id)).toEqual([id]);
      expect(bench.audited).toEqual([]);
    },
    LONG,
  );

  test(
    "S17 with recreate makes way for a new one, which has the settings and the files of the old",
    async () => {
      const bench = await engineBench(engine());
      const id = await madeBefore(bench, "echo kept >/workspace/note; echo gone >/var/note");
      const { sandbox, origin } = await comeBack(bench, await changed(bench), "recreate");
      expect(origin).toBe("created");
      expect((await bench.containers()).map((container) => container.id)).toEqual([sandbox.ref.id]);
      expect(sandbox.ref.id).not.toBe(id);
      const { stdout } = await sandbox.run("cat /workspace/note /data/note; ls /var/note 2>/dev/null; id -u");
      expect(stdout).toBe("kept\nfrom the host\n1000\n");
      expect(warnings(bench)).toEqual([expect.stringMatching(/: image \(.*mount at \/data \(.*; a new one takes its place$/)]);
      expect(bench.audited).toMatchObject([{ what: "removed", sandbox: id, backend: "docker", task: "default", reason: "outdated" }]);
      bench.logged.length = 0;
      const again = await comeBack(bench, await changed(bench), "recreate");
      expect(again).toMatchObject({ origin: "found", sandbox: { ref: { id: sandbox.ref.id } } });
      expect(warnings(bench)).toEqual([]);
    },
    LONG,
  );

  test(
    "S17 with recreate stays while somebody is connected, or something runs in it, whoever started it",
    async () => {
      const bench = await engineBench(engine());
      const spec = await changed(bench);
      const first = await bench.process();
      const { sandbox } = await first.acquire(bench.owner(), before);
      const { id } = sandbox.ref;
      const keeps = async (why: string) => {
        bench.logged.length = 0;
        const lifecycle = bench.lifecycle(await bench.driver(), { onDrift: "recreate" });
        expect(await lifecycle.acquire(bench.owner(), spec)).toMatchObject({ origin: "found", sandbox: { ref: { id } } });
        expect(warnings(bench)).toEqual([expect.stringMatching(new RegExp(`; it is used as it is, because ${why}$`))]);
        await lifecycle.close();
      };
      await keeps("somebody else uses it");

      const process = await sandbox.processes.start("sleep 600");
      const left = (await sandbox.run("sleep 600 >/dev/null 2>&1 & echo $!")).stdout.trim();
      await first.close();
      await keeps("something runs in it");

      // What a call has left behind counts like any other.
      const second = await bench.process();
      const lease = await second.acquire(bench.owner(), before);
      await lease.sandbox.processes.signal(process.id, "SIGKILL");
      await lease.sandbox.processes.wait(process.id);
      await second.close();
      await keeps("something runs in it");

      const third = await bench.process();
      await (await third.acquire(bench.owner(), before)).sandbox.run(`kill -9 ${left}; while kill -0 ${left} 2>/dev/null; do :; done`);
      await third.close();
      expect((await comeBack(bench, spec, "recreate")).origin).toBe("created");
      expect(bench.audited).toHaveLength(1);
    },
    LONG,
  );

  test(
    "S17 on the command line docker_on_drift decides, and inspect shows what differs",
    async () => {
      const { cli, env, json, exec, run } = await cliBench(engine());
      await exec("--", "true");
      const { id } = await json<{ id: string }>("sandbox", "inspect");
      const said = `image (made with: ${BASE_IMAGE}; now: ${USER_IMAGE})`;
      const changed = { ...env, TERMINAL_DOCKER_IMAGE: USER_IMAGE };
      const whoami = (onDrift: string) => cli.run(["exec", "-c", `terminal.docker_on_drift=${onDrift}`, "id -u"], { env: changed });
      const warned = await cli.run(["exec", "id -u"], { env: changed });
      expect(warned).toMatchObject({ status: 0, stdout: "0\n", stderr: expect.stringMatching(/^warning: .*other settings: image \(/) });
      expect(warned.stderr).toContain(said);
      expect(await whoami("reuse")).toEqual({ status: 0, stdout: "0\n", stderr: "" });
      expect(await cli.json(["sandbox", "inspect"], { env: changed })).toMatchObject({
        id,
        drift: [{ setting: "image", made: BASE_IMAGE, wanted: USER_IMAGE }],
      });
      expect((await cli.run(["sandbox", "inspect"], { env: changed })).stdout).toContain(
        `configuration: changed since it was made: ${said}\n`,
      );
      expect(await whoami("recreate")).toMatchObject({
        status: 0,
        stdout: "1000\n",
        stderr: expect.stringContaining("a new one takes its place"),
      });
      expect((await whoami("replace")).stderr).toContain("terminal.docker_on_drift");
      expect((await run("sandbox", "inspect")).stdout).not.toContain(id);
    },
    LONG,
  );
});
