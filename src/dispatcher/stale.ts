/** @module Runs that last long and show no sign of life (K22). */
import type { Step } from "./verdict.ts";

const SILENCE_MS = 3_600_000;

export const stale: Step = ({ worker, startedAt, heartbeatAt }, { time, settings }) => {
  if (settings.staleMs === 0 || worker?.exit !== undefined) return null;
  const silent = time.since(heartbeatAt ?? startedAt);
  if (time.since(startedAt) <= settings.staleMs || silent <= SILENCE_MS) return null;
  return { outcome: "stale", error: `no sign of life for ${Math.floor(silent / 60_000)} minutes` };
};
