/** @module What a warm call in one process costs against a bare spawn. */
import { spawn } from "node:child_process";
import { type Benchmark, measure } from "./measure.ts";
import { openBench } from "./open-bench.ts";

export const benchmark: Benchmark = {
  summary: "one call with session state in an open sandbox on the local backend, against spawning bash and waiting for it",
  async run() {
    await using daemon = await openBench();
    await using plain = await openBench({ "terminal.daemon": "off" });
    const attach = async () => {
      await using holdfast = await daemon.reopen();
      await (await holdfast.sandbox("bench")).run("true");
    };
    await daemon.box.run("true");
    const cases = [
      { label: "spawn bash -c true, from Node", run: bareSpawn },
      { label: "box.run('true')", run: () => daemon.box.run("true") },
      { label: "box.run('true'), terminal.daemon off", run: () => plain.box.run("true") },
      { label: "10 × box.run at once", run: () => Promise.all(Array.from({ length: 10 }, () => daemon.box.run("true"))) },
      { label: "open, attach, first call, close", run: attach },
    ];
    return {
      timings: await measure(cases, { rounds: 200, warmups: 20 }),
      notes: ["aim: box.run at most 4 ms, attach and first call at most 6 ms, on a quiet machine"],
    };
  },
};

function bareSpawn(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", "true"], { stdio: ["ignore", "pipe", "pipe"] });
    child.once("error", reject);
    child.once("close", () => resolve());
  });
}
