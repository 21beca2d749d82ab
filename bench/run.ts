/** @module Runs the benchmarks of this folder: all of them, or those named on the command line. A new one is a new file. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { Benchmark } from "./measure.ts";
import { renderMachine, renderResult } from "./table.ts";

const NOT_BENCHMARKS = new Set(["measure", "open-bench", "run", "table"]);

const available = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts"))
  .map((file) => basename(file, ".ts"))
  .filter((name) => !NOT_BENCHMARKS.has(name));
const wanted = process.argv.length > 2 ? process.argv.slice(2) : available;
const unknown = wanted.filter((name) => !available.includes(name));

if (unknown.length > 0) {
  console.error(`there is no benchmark ${unknown.join(", ")}; there are: ${available.join(", ")}`);
  process.exitCode = 2;
} else {
  console.log(renderMachine());
  for (const name of wanted) {
    const { benchmark } = (await import(join(import.meta.dirname, `${name}.ts`))) as { benchmark: Benchmark };
    console.log(`\n${name}: ${benchmark.summary}`);
    console.log(renderResult(await benchmark.run()));
  }
}
