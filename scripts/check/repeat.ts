/** @module Hunts for flaky tests: runs files again and again beside busy loops, and says how often and how they failed. */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { failuresOf, failureText } from "./report.ts";
import { runVitest } from "./vitest.ts";

const USAGE = "usage: ./check --repeat N [--load M] FILE…   (runs the test files N times beside M busy loops)";
const LOOP = "while :; do :; done";
const LOOP_LIMIT_S = "5400";

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { repeat: { type: "string" }, load: { type: "string", default: "0" } },
    allowPositionals: true,
  });
  const [times, load] = [Number(values.repeat), Number(values.load)];
  if (!(Number.isInteger(times) && times > 0 && Number.isInteger(load) && load >= 0 && positionals.length > 0)) {
    console.error(USAGE);
    process.exit(2);
  }
  process.exitCode = (await repeat(positionals, { times, load })) === 0 ? 0 : 1;
}

/** Returns how many runs failed. */
async function repeat(paths: readonly string[], { times, load }: { times: number; load: number }): Promise<number> {
  const loops = Array.from({ length: load }, () => spawn("timeout", [LOOP_LIMIT_S, "sh", "-c", LOOP], { stdio: "ignore" }));
  const counts = new Map<string, number>();
  let bad = 0;
  try {
    for (let round = 1; round <= times; round += 1) {
      const startedAt = performance.now();
      const { files, errors } = await runVitest({ files: paths.map((path) => ({ path, project: "" })) });
      const failed = files.filter(({ state }) => state !== "passed");
      const lines = [...new Set([...failed.flatMap(failuresOf), ...errors, ...(files.length === 0 ? ["there is no such test file"] : [])])];
      for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
      if (lines.length > 0) bad += 1;
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(
        `run ${round} of ${times}: ${lines.length === 0 ? "passed" : "FAILED"} in ${seconds} s at load ${loadavg()[0]?.toFixed(1)}`,
      );
      for (const each of failed) console.log(indented(failureText(each)));
    }
  } finally {
    for (const loop of loops) stop(loop);
  }
  console.log(`\n${bad} of ${times} runs failed beside ${load} busy loops on ${availableParallelism()} cores`);
  for (const [line, count] of [...counts].sort(([, a], [, b]) => b - a)) console.log(`  ${count} × ${line}`);
  return bad;
}

function stop(loop: ChildProcess): void {
  loop.kill("SIGTERM");
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "    ");
}
