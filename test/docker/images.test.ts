import { existsSync } from "node:fs";
import { copyFile, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BASE_IMAGE, BUSYBOX_IMAGE } from "../helpers/engine-image.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";

describeEngines("images that do not do", (engine) => {
  test("S13 one that cannot be pulled is named, with the reason, and nothing is left behind", async () => {
    const bench = await engineBench(engine());
    const image = "localhost:1/holdfast/none:never";
    expect(await failureOf((await bench.process()).acquire(bench.owner(), containerSpec({ image })))).toMatchObject({
      code: "sandbox-create-failed",
      message: expect.stringMatching(new RegExp(`^the image ${image} cannot be pulled: .*localhost:1`)),
    });
    expect(await bench.containers()).toEqual([]);
    expect(existsSync(bench.placeOf())).toBe(false);
  });

  test("one without bash is an error that says so, for commands and for processes, in the first process and in the next", async () => {
    const bench = await engineBench(engine());
    const missing = {
      code: "spawn-failed",
      message: `the image ${BUSYBOX_IMAGE} has no bash, in which every command runs`,
      hint: expect.stringContaining("use an image with a bash"),
    };
    for (let round = 0; round < 2; round++) {
      const { sandbox } = await (await bench.process()).acquire(bench.owner(), containerSpec({ image: BUSYBOX_IMAGE }));
      expect(await failureOf(sandbox.run("true"))).toMatchObject(missing);
      expect(await failureOf(sandbox.processes.start("true"))).toMatchObject(missing);
    }
  });

  test("one for another architecture is an error that says so", async () => {
    const bench = await engineBench(engine());
    const source = join(bench.directory, "bash");
    await makeForeignProgram(source);
    const spec = containerSpec({ image: BASE_IMAGE, mounts: [{ source, target: "/bin/bash", readOnly: true }] });
    const { sandbox } = await (await bench.process()).acquire(bench.owner(), spec);
    expect(await failureOf(sandbox.run("true"))).toMatchObject({
      code: "spawn-failed",
      message: `the image ${BASE_IMAGE} is for another architecture: its bash cannot run here`,
    });
  });

  test.each([true, false])(
    "S13 one whose entrypoint ends at once says how it ended, and nothing is left behind (persist: %s)",
    async (persist) => {
      const bench = await engineBench(engine());
      const lifecycle = await bench.process();
      const extraArgs = ["--entrypoint", "/bin/mkdir"];
      expect(await failureOf(lifecycle.acquire(bench.owner(), containerSpec({ persist, extraArgs })))).toMatchObject({
        code: "sandbox-create-failed",
        message: expect.stringMatching(/^the container ended at once, with status 1: .*mkdir.*--socket/),
        hint: expect.stringContaining("entrypoint"),
      });
      expect(await bench.containers()).toEqual([]);
      expect(existsSync(bench.placeOf())).toBe(false);
      // The next one with better settings is not held up by it.
      const lease = await lifecycle.acquire(bench.owner(), containerSpec({ persist }));
      expect((await lease.sandbox.run("echo here")).output).toBe("here\n");
    },
    LONG,
  );

  test(
    "S19 a container that ends at once, but was in use before, is kept",
    async () => {
      const bench = await engineBench(engine());
      const source = join(bench.directory, "start");
      const write = (problem: string) => writeFile(source, `#!/bin/sh\n${problem}\nexec "$@"\n`, { mode: 0o755 });
      await write("");
      const mounts = [{ source, target: "/mnt/start", readOnly: true }];
      const spec = containerSpec({ mounts, extraArgs: ["--entrypoint", "/mnt/start"] });
      const lease = await (await bench.process()).acquire(bench.owner(), spec);
      await lease.sandbox.run("echo kept >/var/kept");
      await bench.ask("kill", lease.sandbox.ref.id);
      await write("echo it does not start >&2; exit 3");
      expect(await failureOf((await bench.process()).acquire(bench.owner(), spec))).toMatchObject({
        message: "the container ended at once, with status 3: it does not start",
      });
      await write("");
      const again = await (await bench.process()).acquire(bench.owner(), spec);
      expect((await again.sandbox.run("cat /var/kept")).output).toBe("kept\n");
    },
    LONG,
  );
});

/** A program whose header names another machine. */
async function makeForeignProgram(path: string): Promise<void> {
  await copyFile("/bin/true", path);
  const file = await open(path, "r+");
  // The machine is the 16-bit word at 18; this one is a SPARC.
  await file.write(Uint8Array.of(2, 0), 0, 2, 18);
  await file.close();
}
