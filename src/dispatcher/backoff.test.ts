import { expect, test } from "vitest";
import { restAfter } from "./backoff.ts";

const settings = { backoffMs: 10_000, backoffMaxMs: 60_000, cooldownMs: 300_000 };
const rest = (outcome: Parameters<typeof restAfter>[0], random: number, task = { failures: 0, violations: 0 }) =>
  restAfter(outcome, { task, settings, now: 0, random: () => random });

test("K10 the rest after a failure varies by a fifth to both sides", () => {
  expect(rest("crashed", 0)).toEqual({ reason: "retry_backoff", until: 8000 });
  expect(rest("crashed", 0.5)).toEqual({ reason: "retry_backoff", until: 10_000 });
  expect(rest("crashed", 0.999_999)).toEqual({ reason: "retry_backoff", until: 12_000 });
});

test("K20 violations have a streak of their own, and a limit of a provider one rest", () => {
  expect(rest("protocol_violation", 0.5, { failures: 5, violations: 1 })).toEqual({ reason: "retry_backoff", until: 20_000 });
  expect(rest("rate_limited", 0.1, { failures: 5, violations: 5 })).toEqual({ reason: "rate_limit", until: 300_000 });
});

test("K21 what is nobody's fault needs no rest", () => {
  expect([rest("reclaimed", 0.5), rest("stale", 0.5)]).toEqual([undefined, undefined]);
});
