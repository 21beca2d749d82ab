/** @module What a warm call in one process costs against a bare spawn. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHoldfast } from "../src/index.ts";
import { type Benchmark, measure } from "./measure.ts";

export const benchmark: Benchmark = {
  summary: "one call in an open sandbox on the local backend, against spawning bash and waiting for it",
  async run() {
    const home = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
    try {
      await using holdfast = await openHoldfast({ environment: { ...process.env, HOLDFAST_HOME: home }, cwd: home });
      const box = await holdfast.sandbox("bench");
      const cases = [
        { label: "spawn bash -c true", run: bareSpawn },
        { label: "box.run('true')", run: () => box.run("true") },
        { label: "10 × box.run at once", run: () => Promise.all(Array.from({ length: 10 }, () => box.run("true"))) },
      ];
      return { timings: await measure(cases, { rounds: 200, warmups: 20 }) };
    } finally {
      rmSync(home, { recursive: true });
    }
  },
};

function bareSpawn(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", "true"], { stdio: ["ignore", "pipe", "pipe"] });
    child.once("error", reject);
    child.once("close", () => resolve());
  });
}
