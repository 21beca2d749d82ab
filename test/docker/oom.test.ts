import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failureOf } from "../helpers/failure-of.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";

const TOO_MUCH = "head -c 200M /dev/zero | tail >/dev/null";

describeEngines("S19 memory that runs out", (engine) => {
  const spec = containerSpec({ limits: { ...containerSpec().limits, memoryMb: 64 } });

  test(
    "ends the command that takes too much of it; the result says so, and the rest of the sandbox lives on",
    async () => {
      const bench = await engineBench(engine());
      const { sandbox } = await (await bench.process()).acquire(bench.owner(), spec);
      const watcher = await sandbox.processes.start("sleep 600");
      expect((await sandbox.run(TOO_MUCH)).exitCode).toBe(137);
      const itself = await sandbox.run("x=$(head -c 200M /dev/zero | tr '\\0' x); echo not reached");
      expect(itself).toMatchObject({ exitCode: 137, signal: "SIGKILL", output: "", restarted: false });
      expect(await sandbox.processes.get(watcher.id)).toMatchObject({ state: "running", pid: watcher.pid });
      expect(await sandbox.run("echo on")).toMatchObject({ exitCode: 0, output: "on\n", restarted: false, replaced: null });
    },
    LONG,
  );

  test(
    "in the first process of the container ends the call with it; the next one starts it again, and says so",
    async () => {
      const bench = await engineBench(engine());
      const source = join(bench.directory, "start");
      const greedy = '#!/bin/bash\nmkfifo /var/go 2>/dev/null\n"$@" & read -r _ </var/go\nx=$(head -c 200M /dev/zero | tr "\\0" x)\n';
      await writeFile(source, greedy, { mode: 0o755 });
      const mounts = [{ source, target: "/mnt/start", readOnly: true }];
      const extraArgs = ["--init=false", "--entrypoint", "/mnt/start"];
      const { sandbox } = await (await bench.process()).acquire(bench.owner(), { ...spec, mounts, extraArgs });
      await sandbox.run("echo kept >/var/kept");
      expect(await failureOf(sandbox.run("echo >/var/go; sleep 600"))).toMatchObject({
        code: "sandbox-lost",
        facts: { mayHaveRun: true },
      });
      expect(await bench.ask("wait", sandbox.ref.id)).toBe("137");
      expect(await sandbox.run("cat /var/kept")).toMatchObject({ output: "kept\n", restarted: true, replaced: null });
      expect(await bench.containers()).toMatchObject([{ id: sandbox.ref.id, state: "running" }]);
      // This first process does not heed TERM, for which a removal would wait.
      await bench.ask("kill", sandbox.ref.id);
    },
    LONG,
  );
});
