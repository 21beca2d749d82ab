/** @module What `holdfast exec -- true` costs as a whole process on the local backend. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Benchmark, type Case, commandCase, measure } from "./measure.ts";

const ROOT = dirname(import.meta.dirname);

export const benchmark: Benchmark = {
  summary: "./holdfast exec -- true, whole process, session state included",
  async run() {
    const home = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
    try {
      const env = { ...process.env, HOLDFAST_HOME: home };
      const engine = engineCase();
      const cases = [
        commandCase("bash -c true", ["bash", "-c", "true"]),
        commandCase("node -e 0", [join(ROOT, "node_modules/node/bin/node"), "-e", "0"]),
        commandCase("./holdfast exec -- true", [join(ROOT, "holdfast"), "exec", "--", "true"], { env }),
        ...(engine.case ? [engine.case] : []),
      ];
      const timings = await measure(cases, { rounds: 40 });
      return { timings, notes: engine.note ? [engine.note] : [] };
    } finally {
      rmSync(home, { recursive: true });
    }
  },
};

/** `docker exec` into the container named by HOLDFAST_BENCH_CONTAINER; nothing is started or removed here. */
function engineCase(): { case?: Case; note?: string } {
  const container = process.env.HOLDFAST_BENCH_CONTAINER;
  if (container === undefined) return { note: "docker exec: not measured; set HOLDFAST_BENCH_CONTAINER to a running container" };
  const { status } = spawnSync("docker", ["exec", container, "true"], { stdio: "ignore" });
  if (status !== 0) return { note: `docker exec: not measured; no engine runs a container ${container}` };
  return { case: commandCase("docker exec C true", ["docker", "exec", container, "true"]) };
}
