/** @module Runs that last longer than they may (K22). Supervisors see to it themselves; this is for those that cannot. */
import type { Step } from "./verdict.ts";

const SLACK_MS = 10_000;

export const overtime: Step = (run, { time, settings, maxRuntimeMs }) => {
  const limit = run.maxRuntimeMs ?? maxRuntimeMs;
  if (limit === null || run.worker === null || time.since(run.startedAt) <= limit + settings.graceMs + SLACK_MS) return null;
  return { outcome: "timed_out", error: `it ran longer than ${Math.round(limit / 1000)} seconds` };
};
