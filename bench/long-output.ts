/** @module What a gibibyte of output costs: time, and memory of the host process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHoldfast } from "../src/index.ts";
import type { Benchmark } from "./measure.ts";

const BYTES = 2 ** 30;
const MEBIBYTE = 2 ** 20;
const SAMPLE_MS = 5;
const RUNS = 3;

export const benchmark: Benchmark = {
  summary: "1 GiB through one call on the local backend",
  async run() {
    const notes = ["aim: memory growth of at most 64 MiB"];
    for (const [label, spillLimitMb] of [
      ["nothing kept beyond memory", 0],
      ["overflow file of 256 MB (default)", 256],
    ] as const) {
      for (let run = 0; run < RUNS; run++) notes.push(`${label}: ${await measureOnce(spillLimitMb)}`);
    }
    return { timings: [], notes };
  },
};

async function measureOnce(spillLimitMb: number): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  try {
    await using holdfast = await openHoldfast({
      environment: { ...process.env, HOLDFAST_HOME: home },
      config: { "terminal.spill_limit_mb": spillLimitMb },
      cwd: home,
    });
    const box = await holdfast.sandbox("bench");
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
  } finally {
    rmSync(home, { recursive: true });
  }
}
