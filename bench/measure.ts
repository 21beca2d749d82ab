/** @module Timing of several cases side by side, so that noise of the machine hits all of them alike. */
import { spawnSync } from "node:child_process";

export interface Case {
  readonly label: string;
  readonly run: () => unknown;
}

export interface Timing {
  readonly label: string;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly n: number;
}

/** What a file in bench/ exports as `benchmark`; its name on the command line is the name of the file. */
export interface Benchmark {
  readonly summary: string;
  run(): Promise<BenchmarkResult>;
}

export interface BenchmarkResult {
  /** The first one is what the others are compared with. */
  readonly timings: readonly Timing[];
  /** Further lines for people: what was aimed at, and whether it was reached. */
  readonly notes?: readonly string[];
}

/** Runs every case once per round, in changing order, after a few rounds that do not count. Times are in milliseconds. */
export async function measure(cases: readonly Case[], { rounds, warmups = 3 }: { rounds: number; warmups?: number }): Promise<Timing[]> {
  const samples = new Map<string, number[]>(cases.map(({ label }) => [label, []]));
  for (let round = -warmups; round < rounds; round++) {
    for (const { label, run } of round % 2 === 0 ? cases : cases.toReversed()) {
      const startedAt = performance.now();
      await run();
      if (round >= 0) samples.get(label)?.push(performance.now() - startedAt);
    }
  }
  return [...samples].map(([label, times]) => toTiming(label, times));
}

/** For times that were not taken around one call. */
export function toTiming(label: string, times: readonly number[]): Timing {
  return { label, p50: percentile(times, 50), p95: percentile(times, 95), p99: percentile(times, 99), n: times.length };
}

/** A case that runs a command to its end; a command that fails ends the benchmark, for its time would say nothing. */
export function commandCase(
  label: string,
  argv: readonly [string, ...string[]],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Case {
  const [program, ...args] = argv;
  return {
    label,
    run() {
      const { status, stderr, error } = spawnSync(program, args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8", ...options });
      if (status !== 0) throw new Error(`${argv.join(" ")} failed: ${error?.message ?? stderr}`);
    },
  };
}

/** The timing of one case; asking for one that was not measured is a mistake in the benchmark. */
export function timingOf(timings: readonly Timing[], label: string): Timing {
  const found = timings.find((timing) => timing.label === label);
  if (found === undefined) throw new Error(`there is no case ${label}`);
  return found;
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}
