import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BUSYBOX_IMAGE, ENTRYPOINT_IMAGE, USER_IMAGE } from "../helpers/engine-image.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";

describeEngines("making containers", (engine) => {
  test("S5 S7 S12 a container is hardened, limited and labelled as the contract has it", async () => {
    const bench = await engineBench(engine());
    const { sandbox } = await (await bench.process()).acquire(bench.owner("a task/1"), containerSpec());
    const { HostConfig: host, Config: config } = await bench.inspect(sandbox.ref.id);
    expect(host).toMatchObject({ PidsLimit: 256, Memory: 512 * 1024 * 1024, NanoCpus: 1e9 });
    expect(host.SecurityOpt?.join()).toContain("no-new-privileges");
    expect(Object.keys(host.Tmpfs ?? {}).sort()).toEqual(["/holdfast", "/run", "/tmp", "/var/tmp"]);
    expect(config.Labels).toMatchObject({ "holdfast-agent": "1", "holdfast-task-id": "a_task_1", "holdfast-profile": "default" });
    const { output } = await sandbox.run("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status");
    // CHOWN, DAC_OVERRIDE, FOWNER, SETGID and SETUID.
    const capabilities = ((1 << 0) | (1 << 1) | (1 << 3) | (1 << 6) | (1 << 7)).toString(16).padStart(16, "0");
    expect(output).toBe(`CapEff:\t${capabilities}\nCapBnd:\t${capabilities}\nNoNewPrivs:\t1\n`);
    const { output: mounts } = await sandbox.run("grep -E ' (/tmp|/var/tmp|/run) ' /proc/mounts | sort -k2");
    const [run, tmp, varTmp] = mounts.split("\n");
    for (const line of [run, tmp, varTmp]) expect(line).toContain("nosuid");
    for (const line of [run, varTmp]) expect(line).toContain("noexec");
    expect(tmp).not.toContain("noexec");
    expect(tmp).toContain("size=524288k");
  });

  test("S6 as the caller's own user there are no SETUID and SETGID", async () => {
    const bench = await engineBench(engine());
    const { sandbox } = await (await bench.process()).acquire(bench.owner(), containerSpec({ hostUser: true }));
    expect((await bench.inspect(sandbox.ref.id)).Config.User).toBe(`${process.getuid?.()}:${process.getgid?.()}`);
    expect((await sandbox.run("id -u; grep CapBnd /proc/self/status")).output).toBe(`${process.getuid?.()}\nCapBnd:\t000000000000000b\n`);
  });

  test("S9 a HOME among the variables is the home that is kept", async () => {
    const bench = await engineBench(engine());
    for (const hostUser of [true, false]) {
      const task = `host-user-${hostUser}`;
      const { sandbox } = await (await bench.process()).acquire(bench.owner(task), containerSpec({ hostUser, env: { HOME: "/srv/me" } }));
      expect((await sandbox.run("cd; pwd; echo it >~/file")).stdout).toBe("/srv/me\n");
      expect(await readFile(join(bench.placeOf(task), "home/file"), "utf8")).toBe("it\n");
    }
  });

  test("S8 volumes are bound, to write and to read only", async () => {
    const bench = await engineBench(engine());
    const [rw, ro] = [join(bench.directory, "rw"), join(bench.directory, "ro")];
    await Promise.all([mkdir(rw), mkdir(ro)]);
    await writeFile(join(ro, "file"), "theirs\n");
    const mounts = [
      { source: rw, target: "/mnt/rw", readOnly: false },
      { source: ro, target: "/mnt/ro", readOnly: true },
    ];
    const { sandbox } = await (await bench.process()).acquire(bench.owner(), containerSpec({ mounts }));
    expect((await sandbox.run("cat /mnt/ro/file; echo ours >/mnt/rw/file; echo no >/mnt/ro/file")).stdout).toBe("theirs\n");
    expect(await readFile(join(rw, "file"), "utf8")).toBe("ours\n");
    expect(await readFile(join(ro, "file"), "utf8")).toBe("theirs\n");
  });

  test(
    "S9 workspace and home outlive the container, or are in memory and leave nothing",
    async () => {
      const bench = await engineBench(engine());
      for (const keepFiles of [true, false]) {
        const task = keepFiles ? "keeps" : "drops";
        const lease = await (await bench.process()).acquire(bench.owner(task), containerSpec({ keepFiles }));
        await lease.sandbox.run("echo it >/workspace/file; echo it >~/file");
        await lease.cleanup({ forceRemove: true });
        expect(existsSync(join(bench.placeOf(task), "workspace/file"))).toBe(keepFiles);
        expect(existsSync(bench.placeOf(task))).toBe(keepFiles);
        expect((await lease.sandbox.run("cat /workspace/file ~/file")).stdout).toBe(keepFiles ? "it\nit\n" : "");
      }
    },
    LONG,
  );

  test("S10 S11 variables reach commands; what is forwarded wins and is not in the container, and nothing else of the caller's enters", async () => {
    const bench = await engineBench(engine());
    const settings = { docker_forward_env: ["TOKEN", "BOTH", "ABSENT"] };
    const variables = { TOKEN: "forwarded-secret", BOTH: "forwarded", OPENAI_API_KEY: "never-in" };
    const driver = await bench.driver({ settings, variables });
    const spec = containerSpec({ env: { LITERAL: "literal value", BOTH: "literal" }, forwardEnv: settings.docker_forward_env });
    const { sandbox } = await bench.lifecycle(driver).acquire(bench.owner(), spec);
    const { output } = await sandbox.run('echo "$TOKEN/$BOTH/$LITERAL/${ABSENT-none}/${OPENAI_API_KEY-none}"');
    expect(output).toBe("forwarded-secret/forwarded/literal value/none/none\n");
    const text = JSON.stringify(await bench.inspect(sandbox.ref.id));
    expect(text).not.toContain("forwarded-secret");
    expect(text).not.toContain("never-in");
    expect((await sandbox.run("cat /proc/*/cmdline | tr '\\0' ' '")).output).not.toContain("forwarded-secret");
  });

  test("S13 an image that is not there is an error that names it, and nothing is left behind", async () => {
    const bench = await engineBench(engine());
    const driver = await bench.driver();
    const image = "localhost:1/holdfast/none:never";
    await expect(driver.create(bench.owner(), containerSpec({ image }))).rejects.toMatchObject({
      code: "sandbox-create-failed",
      message: expect.stringContaining(image),
    });
    expect(await bench.containers()).toEqual([]);
    expect(existsSync(bench.placeOf())).toBe(false);
  });

  test("S13 a container that the engine refuses leaves nothing behind", async () => {
    const bench = await engineBench(engine());
    const driver = await bench.driver();
    const error = await failureOf(driver.create(bench.owner(), containerSpec({ extraArgs: ["--device", "/dev/nothing-there"] })));
    expect(error).toMatchObject({ message: expect.stringMatching(/nothing-there/) });
    expect(await bench.containers()).toEqual([]);
    expect(existsSync(join(bench.placeOf(), "sandbox.json"))).toBe(false);
  });

  test("S4 an image with an entrypoint of its own runs under it", async () => {
    const bench = await engineBench(engine());
    const { sandbox } = await (await bench.process()).acquire(bench.owner(), containerSpec({ image: ENTRYPOINT_IMAGE }));
    expect((await sandbox.run("echo $OWN_INIT")).output).toBe("1\n");
  });

  test("S5 S9 an image that is not root's keeps its user, who can write home and workspace", async () => {
    const bench = await engineBench(engine());
    for (const keepFiles of [true, false]) {
      const spec = containerSpec({ image: USER_IMAGE, keepFiles });
      const { sandbox } = await (await bench.process()).acquire(bench.owner(`keep-${keepFiles}`), spec);
      const { output } = await sandbox.run(
        "id -u; echo it >~/file && echo it >/workspace/file && cat ~/file; grep CapBnd /proc/self/status",
      );
      expect(output).toBe("1000\nit\nCapBnd:\t000000000000000b\n");
    }
  });

  test("S4 an image without bash is an error that says what it lacks", async () => {
    const bench = await engineBench(engine());
    const lifecycle = await bench.process();
    const error = await failureOf(
      lifecycle.acquire(bench.owner(), containerSpec({ image: BUSYBOX_IMAGE })).then(({ sandbox }) => sandbox.run("true")),
    );
    expect(error).toMatchObject({ message: expect.stringContaining("bash") });
  });
});
