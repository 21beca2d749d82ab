/** @module What a gibibyte of output costs: time, and memory of the host process. */
import type { Benchmark } from "./measure.ts";
import { openBench } from "./open-bench.ts";

const BYTES = 2 ** 30;
const MEBIBYTE = 2 ** 20;
const SAMPLE_MS = 5;
const RUNS = 3;

const CASES: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["nothing kept beyond memory", { "terminal.spill_limit_mb": 0 }],
  ["overflow file of 256 MB (default)", {}],
  ["the same, terminal.daemon off", { "terminal.daemon": "off" }],
];

export const benchmark: Benchmark = {
  summary: "1 GiB through one call on the local backend",
  async run() {
    const notes = ["aim: at least 500 MB/s, memory growth of at most 64 MiB"];
    for (const [label, config] of CASES) {
      for (let run = 0; run < RUNS; run++) notes.push(`${label}: ${await measureOnce(config)}`);
    }
    return { timings: [], notes };
  },
};

async function measureOnce(config: Readonly<Record<string, unknown>>): Promise<string> {
  await using bench = await openBench(config);
  const { box } = bench;
  await box.run("true");
  const before = process.memoryUsage.rss();
  let peak = before;
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, SAMPLE_MS);
  const startedAt = performance.now();
  const { outputBytes } = await box.run(`head -c ${BYTES} /dev/zero`);
  const seconds = (performance.now() - startedAt) / 1000;
  clearInterval(sampler);
  if (outputBytes !== BYTES) throw new Error(`${outputBytes} bytes came instead of ${BYTES}`);
  return `${(BYTES / 1e6 / seconds).toFixed(0)} MB/s, memory growth ${((peak - before) / MEBIBYTE).toFixed(0)} MiB`;
}
