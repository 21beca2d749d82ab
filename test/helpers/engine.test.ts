import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ENGINE_LIMIT_MS, type PrivateEngine, privateEngine, type TestEngine, testEngine } from "./engine.ts";
import { BASE_IMAGE, BUSYBOX_IMAGE, ENTRYPOINT_IMAGE, TEST_IMAGES, USER_IMAGE, WRONG_ARCH_IMAGE } from "./engine-image.ts";
import { testPodman } from "./podman.ts";
import { describeIf } from "./requirements.ts";

const GONE_LIMIT_MS = 20_000;

const ENGINES = { dockerd: testEngine, podman: testPodman } as const;

for (const [name, find] of Object.entries(ENGINES) as ["dockerd" | "podman", () => Promise<TestEngine>][]) {
  describeIf([name, "mmdebstrap"], `the ${name} of tests`, () => {
    const label = `holdfast.engine-test=${process.pid}`;
    let engine: TestEngine;
    let directory: string;

    beforeAll(async () => {
      engine = await find();
      directory = await realpath(await mkdtemp(join(tmpdir(), "holdfast-engine-")));
    }, ENGINE_LIMIT_MS);
    afterAll(async () => {
      const left = (await engine.containers(label)).map(({ id }) => id);
      if (left.length > 0) await engine.run(["rm", "--force", ...left]);
      await rm(directory, { recursive: true, force: true });
    });

    const succeed = async (...args: string[]) => {
      const result = await engine.run(args);
      expect(result, result.stderr).toMatchObject({ code: 0 });
      return result.stdout.trim();
    };
    const inside = (image: string, ...command: string[]) => succeed("run", "--rm", "--network=none", "--label", label, image, ...command);

    test("is the same for whoever asks", async () => {
      expect(await find()).toBe(engine);
    });

    test("runs a container with an init, a bind mount and commands in it, and lists it", async () => {
      await writeFile(join(directory, "from-host"), "hello");
      const options = ["--detach", "--init", "--network=none", "--label", label, "--volume", `${directory}:/shared`];
      const id = await succeed("run", ...options, BASE_IMAGE, "sleep", "infinity");
      expect(await engine.containers(label)).toEqual([{ id, name: expect.any(String), state: "running" }]);
      expect(await succeed("exec", id, "ps", "-o", "args=", "1")).toMatch(/init.* -- sleep infinity$/);
      expect(await succeed("exec", id, "bash", "-c", "cat /shared/from-host; echo back >/shared/from-inside; git --version")).toMatch(
        /^hellogit/,
      );
      expect(await readFile(join(directory, "from-inside"), "utf8")).toBe("back\n");
      expect((await engine.run(["exec", id, "bash", "-c", "echo no >&2; exit 3"])).code).toBe(3);
      await succeed("rm", "--force", id);
      expect(await engine.containers(label)).toEqual([]);
    });

    test("has the images, each with what makes it special", async () => {
      expect(await inside(BUSYBOX_IMAGE, "sh", "-c", "command -v bash || echo none")).toBe("none");
      expect(await inside(ENTRYPOINT_IMAGE, "bash", "-c", "echo $OWN_INIT")).toBe("1");
      expect(await inside(USER_IMAGE, "bash", "-c", "id -un; echo $HOME; pwd; touch mine")).toBe("someone\n/home/someone\n/home/someone");
      const architectures = await succeed("image", "inspect", "--format", "{{.Architecture}}", BASE_IMAGE, WRONG_ARCH_IMAGE);
      expect(architectures.split("\n").sort()).toEqual(["amd64", "arm64"]);
      const { code, stderr } = await engine.run(["run", "--rm", "--network=none", "--label", label, WRONG_ARCH_IMAGE, "true"]);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/exec format error/i);
      expect(TEST_IMAGES).toHaveLength(5);
    });
  });
}

describeIf(["dockerd", "mmdebstrap"], "a private engine", () => {
  let engine: PrivateEngine;
  beforeAll(async () => {
    engine = await privateEngine();
  }, ENGINE_LIMIT_MS);
  afterAll(() => engine[Symbol.asyncDispose]());

  test("is stopped, started again with its containers, frozen, thawed and crashed", async () => {
    const { stdout } = await engine.run(["run", "--detach", "--init", "--network=none", "--label=mine", BUSYBOX_IMAGE, "sleep", "1000"]);
    const before = engine.pid;
    await engine.stop();
    expect((await engine.run(["version"])).code).not.toBe(0);
    await engine.start();
    expect(engine.pid).not.toBe(before);
    expect(await engine.containers("mine")).toMatchObject([{ id: stdout.trim(), state: "exited" }]);
    await engine.freeze();
    expect(await readFile(`/proc/${engine.pid}/stat`, "utf8")).toMatch(/\) T /);
    const asked = engine.run(["version"]);
    engine.thaw();
    expect((await asked).code).toBe(0);
    await engine.crash();
    await engine.start();
    expect(await engine.containers("mine")).toHaveLength(1);
  });
});

describeIf(["dockerd", "podman", "mmdebstrap"], "the engines of a process that is killed", () => {
  test(
    "leave nothing behind, whatever runs in them and although one is frozen",
    async () => {
      const path = (file: string) => JSON.stringify(join(import.meta.dirname, file));
      const program = `
      import { readFileSync } from "node:fs";
      import { dirname } from "node:path";
      import { testEngine } from ${path("engine.ts")};
      import { testPodman } from ${path("podman.ts")};
      const engines = [await testEngine(), await testPodman()];
      const place = dirname(dirname(engines[1].binary));
      for (const engine of engines) {
        const command = ["sh", "-c", "trap : TERM; while :; do sleep 1000; done; : " + place];
        const { code, stderr } = await engine.run(["run", "--detach", "--init", "--network=none", "${BUSYBOX_IMAGE}", ...command]);
        if (code !== 0) throw new Error(stderr);
      }
      process.kill(Number(readFileSync(place + "/docker/pid", "utf8")), "SIGSTOP");
      process.stdout.write(place + "\\n");
      setInterval(() => {}, 1000);
    `;
      const { HOLDFAST_TEST_PLACE: _, HOLDFAST_TEST_ENGINE: __, ...env } = process.env;
      const user = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: ["ignore", "pipe", "inherit"], env });
      const [said] = await Promise.race([once(user.stdout, "data"), once(user, "exit")]);
      const place = String(said).trim();
      const running = await tracesOf(place);
      expect(running.filter((text) => text.includes("while :;"))).toHaveLength(4);
      user.kill("SIGKILL");
      await expect.poll(() => tracesOf(place), { timeout: GONE_LIMIT_MS }).toEqual([]);
    },
    ENGINE_LIMIT_MS,
  );
});

/** The directory, processes, mounts and cgroups that carry the name of the place. */
async function tracesOf(place: string): Promise<string[]> {
  const name = place.slice("/tmp/".length);
  const pids = (await readdir("/proc")).filter((pid) => /^\d+$/.test(pid));
  // A process may end while it is looked at.
  const lookedAt = pids.flatMap((pid) => ["cmdline", "cgroup"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")));
  const groups = (await readdir("/sys/fs/cgroup")).map((controller) => join("/sys/fs/cgroup", controller, name)).filter(existsSync);
  const found = [
    existsSync(place) ? place : "",
    ...(await Promise.all(lookedAt)),
    ...(await readFile("/proc/self/mounts", "utf8")).split("\n"),
    ...groups,
  ];
  return found.filter((text) => text.includes(name));
}
