/** @module What a start of the program costs over a start of node. */
import { dirname, join } from "node:path";
import { type Benchmark, commandCase, measure, timingOf } from "./measure.ts";

const ROOT = dirname(import.meta.dirname);
const TARGET_MS = 25;
const BARE_NODE = "node -e 0";
const LAUNCHER = "./holdfast --version";

export const benchmark: Benchmark = {
  summary: "the whole process, launcher included",
  async run() {
    const cases = [
      commandCase(BARE_NODE, [join(ROOT, "node_modules/node/bin/node"), "-e", "0"]),
      commandCase(LAUNCHER, [join(ROOT, "holdfast"), "--version"]),
      commandCase("bash -c true", ["bash", "-c", "true"]),
    ];
    const timings = await measure(cases, { rounds: 60 });
    const over = timingOf(timings, LAUNCHER).p50 - timingOf(timings, BARE_NODE).p50;
    return { timings, notes: [`aim: at most ${TARGET_MS} ms over bare node; measured: ${over.toFixed(1)} ms`] };
  },
};
