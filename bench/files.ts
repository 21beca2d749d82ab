/** @module A gibibyte of file into a sandbox and out of it. */
import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Benchmark } from "./measure.ts";
import { openBench } from "./open-bench.ts";

const BYTES = 2 ** 30;
const CHUNK_BYTES = 1024 * 1024;
const RUNS = 3;

export const benchmark: Benchmark = {
  summary: "a file of 1 GiB into a sandbox on the local backend and out of it, through the daemon, against a copy in Node",
  async run() {
    await using bench = await openBench();
    const [here, there, back] = ["here", "there", "back"].map((name) => join(bench.home, name)) as [string, string, string];
    const file = await open(here, "w");
    for (let written = 0; written < BYTES; written += CHUNK_BYTES) await file.write(Buffer.alloc(CHUNK_BYTES, written % 251));
    await file.close();
    const source = () => createReadStream(here, { highWaterMark: CHUNK_BYTES });
    const notes: string[] = ["aim: at least 300 MB/s each way"];
    for (let run = 0; run < RUNS; run++) {
      notes.push(
        [
          `plain copy ${await speed(() => pipeline(source(), createWriteStream(back)))}`,
          `in ${await speed(() => bench.box.files.write(there, source()))}`,
          `out ${await speed(async () => pipeline(await bench.box.files.readStream(there), createWriteStream(back)))}`,
        ].join(", "),
      );
      rmSync(back);
    }
    return { timings: [], notes };
  },
};

async function speed(work: () => Promise<unknown>): Promise<string> {
  const startedAt = performance.now();
  await work();
  return `${(BYTES / 1e3 / (performance.now() - startedAt)).toFixed(0)} MB/s`;
}
