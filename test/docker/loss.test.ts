import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failureOf } from "../helpers/failure-of.ts";
import { openCall } from "../services/lifecycle-bench.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";

describeEngines("a container that is gone", (engine) => {
  test(
    "S20 one that was removed is replaced by the next call, which runs once and says what is lost",
    async () => {
      const bench = await engineBench(engine());
      const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
      const before = lease.sandbox.ref.id;
      await lease.sandbox.run("echo kept >kept; echo gone >/var/gone; cd /usr");
      await bench.ask("rm", "-f", before);
      const result = await lease.sandbox.run("echo ran >>~/tally; cat /workspace/kept; ls /var/gone");
      expect(result).toMatchObject({ stdout: "kept\n", exitCode: 2, cwd: "/workspace", restarted: false });
      expect(result.replaced?.lost).toContain("files outside its home and workspace, installed packages among them");
      expect(lease.sandbox.ref.id).not.toBe(before);
      expect(await lease.sandbox.run("cat ~/tally")).toMatchObject({ output: "ran\n", replaced: null });
      expect(await bench.containers()).toHaveLength(1);
    },
    LONG,
  );

  test(
    "S20 one that was removed while this process was busy is replaced all the same, because nothing was sent to it",
    async () => {
      const bench = await engineBench(engine());
      const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
      await lease.sandbox.run("true");
      // Not a turn of the event loop in between, which would hear of the end.
      execFileSync(engine().binary, ["rm", "-f", lease.sandbox.ref.id], { env: { ...process.env, ...engine().env }, stdio: "ignore" });
      const result = await lease.sandbox.run("echo ran >>~/tally; cat ~/tally");
      expect(result).toMatchObject({ output: "ran\n", replaced: { lost: expect.any(Array) } });
    },
    LONG,
  );

  test(
    "S20 one that is removed during a call fails that call, which is not repeated",
    async () => {
      const bench = await engineBench(engine());
      const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
      await lease.sandbox.run("true");
      const call = await openCall(lease);
      const failed = failureOf(call.result);
      await bench.ask("rm", "-f", lease.sandbox.ref.id);
      expect(await failed).toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: true } });
      expect(await bench.containers()).toEqual([]);
      expect(await lease.sandbox.run("echo on")).toMatchObject({ output: "on\n", replaced: { lost: expect.any(Array) } });
    },
    LONG,
  );

  test("S20 what a command prints is never taken for a lost sandbox", async () => {
    const bench = await engineBench(engine());
    const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
    const text = `Error response from daemon: No such container: ${lease.sandbox.ref.id}`;
    expect(await lease.sandbox.run(`echo '${text}' >&2; exit 125`)).toMatchObject({ exitCode: 125, stderr: `${text}\n`, replaced: null });
    expect(await readFile(join(bench.placeOf(), "sandbox.json"), "utf8")).toContain(lease.sandbox.ref.id);
  });

  test(
    "S20 what was in the directory of a container that is gone does not stay for ever",
    async () => {
      const bench = await engineBench(engine());
      const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
      const runs = () => readdir(join(bench.placeOf(), "run"));
      const before = await runs();
      expect(before).toHaveLength(1);
      await bench.ask("rm", "-f", lease.sandbox.ref.id);
      await lease.sandbox.run("true");
      const after = await runs();
      expect(after).toHaveLength(1);
      expect(after).not.toEqual(before);
    },
    LONG,
  );
});
