/** @module Timings as a table for people. */
import { availableParallelism, cpus, release, type } from "node:os";
import type { BenchmarkResult } from "./measure.ts";

export function renderResult({ timings, notes = [] }: BenchmarkResult): string {
  const [baseline] = timings;
  if (baseline === undefined) return notes.map((note) => `  ${note}`).join("\n");
  const rows = timings.map(({ label, p50, p95, p99, n }) => [
    label,
    p50.toFixed(2),
    p95.toFixed(2),
    p99.toFixed(2),
    String(n),
    `${(p50 / baseline.p50).toFixed(2)} x`,
    `${p50 - baseline.p50 < 0 ? "" : "+"}${(p50 - baseline.p50).toFixed(2)}`,
  ]);
  const table = renderTable([["", "p50 ms", "p95 ms", "p99 ms", "n", "ratio", "difference"], ...rows]);
  return [table, ...notes.map((note) => `  ${note}`)].join("\n");
}

export function renderMachine(): string {
  return `${availableParallelism()} cores (${cpus()[0]?.model ?? "unknown"}), ${type()} ${release()}, node ${process.version}`;
}

export function renderTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number) => (column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0));
  return rows.map((row) => `  ${row.map(cell).join("  ")}`).join("\n");
}
