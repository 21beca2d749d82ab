import { describe, expect, test } from "vitest";
import { countRelease, type Release } from "./failures.ts";

const none = { failures: 0, violations: 0 };
const rules = { maxRetries: null };

describe("K20 failures", () => {
  test.each<Release>(["crashed", "timed_out", "spawn_failed"])("%s counts, and the second one in a row is one too many", (release) => {
    const once = countRelease(release, none, rules);
    expect(once).toEqual({ failures: 1, violations: 0, giveUp: false });
    expect(countRelease(release, once, rules)).toEqual({ failures: 2, violations: 0, giveUp: true });
  });

  test.each<Release>(["reclaimed", "stale", "rate_limited"])("%s does not count, nor does it make good what failed before", (release) => {
    const before = { failures: 1, violations: 2 };
    expect(countRelease(release, before, rules)).toEqual({ ...before, giveUp: false });
  });

  test("an end without a word has a limit of its own, 3", () => {
    expect(countRelease("protocol_violation", { failures: 1, violations: 1 }, rules)).toEqual({
      failures: 1,
      violations: 2,
      giveUp: false,
    });
    expect(countRelease("protocol_violation", { failures: 0, violations: 2 }, rules)).toMatchObject({ giveUp: true });
  });

  test("the task's own limit comes before the configured one, and both are at least 1", () => {
    expect(countRelease("crashed", none, { maxRetries: 1, failureLimit: 9 })).toMatchObject({ giveUp: true });
    expect(countRelease("crashed", { failures: 7, violations: 0 }, { maxRetries: null, failureLimit: 9 })).toMatchObject({ giveUp: false });
    expect(countRelease("crashed", none, { maxRetries: 0 })).toMatchObject({ giveUp: true });
  });
});
