/** @module What `holdfast exec -- true` costs as a whole process on the local backend. */
import { dirname, join } from "node:path";
import { type Benchmark, commandCase, measure } from "./measure.ts";
import { openBench } from "./open-bench.ts";

const ROOT = dirname(import.meta.dirname);

export const benchmark: Benchmark = {
  summary: "./holdfast exec -- true, whole process, session state included",
  async run() {
    await using bench = await openBench();
    const env = { ...process.env, HOLDFAST_HOME: bench.home };
    const cases = [
      commandCase("bash -c true", ["bash", "-c", "true"]),
      commandCase("node -e 0", [join(ROOT, "node_modules/node/bin/node"), "-e", "0"]),
      commandCase("./holdfast exec -- true", [join(ROOT, "holdfast"), "exec", "-t", "bench", "--", "true"], { env }),
    ];
    return { timings: await measure(cases, { rounds: 40 }), notes: ["aim: at most 70 ms on a quiet machine"] };
  },
};
