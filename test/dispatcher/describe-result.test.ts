import { expect, test } from "vitest";
import { describeResult } from "../../src/dispatcher/describe-result.ts";
import { emptyResult } from "../../src/dispatcher/result.ts";

test("K33 a pass that found nothing has nothing to say", () => expect(describeResult(emptyResult())).toEqual([]));

test("K33 each bucket that is not empty is said in words", () => {
  const result = {
    ...emptyResult(),
    reclaimed: ["t_1"],
    reconciled: ["t_2"],
    stale: ["t_3"],
    crashed: ["t_4", "t_5"],
    rate_limited: ["t_6"],
    protocol_violation: ["t_7"],
    spawn_failed: ["t_8"],
    timed_out: ["t_9"],
    auto_blocked: ["t_5"],
    elsewhere: ["t_10"],
    promoted: ["t_11"],
    deadline_missed: ["t_12"],
    auto_assigned_default: [
      { task: "t_13", assignee: "X" },
      { task: "t_14", assignee: "X" },
    ],
    spawned: [{ task: "t_13", assignee: "X", workspace: "/w/t_13" }],
    skipped_unassigned: ["t_15"],
    skipped_nonspawnable: [
      { task: "t_16", assignee: "lane", reason: "no_command" as const },
      { task: "t_17", assignee: "ghost", reason: "no_profile" as const },
      { task: "t_18", assignee: "broken", reason: "unreadable" as const },
      { task: "t_19", assignee: "other", reason: "not_in_dispatch_profiles" as const },
      { task: "t_20", assignee: "X", reason: "review_dispatch_off" as const },
    ],
    respawn_guarded: [{ task: "t_21", reason: "retry_backoff", until: 0 }],
    skipped_per_profile_capped: [
      { task: "t_22", assignee: "X", running: 3 },
      { task: "t_23", assignee: "X", running: 3 },
    ],
    skipped_capped: [
      { task: "t_24", cap: "max_in_progress" as const, running: 5 },
      { task: "t_25", cap: "max" as const, running: 1 },
    ],
    skipped_locked: true,
  };
  expect(describeResult(result, { errors: new Map([["t_8", "no such program"]]) })).toEqual([
    "Waits: another dispatcher leads this board",
    "Reclaimed: t_1",
    "Put right: t_2",
    "Stale: t_3",
    "Crashed: t_4, t_5",
    "Rate limited: t_6",
    "Ended without a word: t_7",
    "Could not be started: t_8 (no such program)",
    "Timed out: t_9",
    "Blocked after too many failures: t_5",
    "Left to another machine: t_10",
    "Woken, since their time has come: t_11",
    "Deadline missed: t_12",
    "Auto-assigned to kanban.default_assignee='X': t_13, t_14",
    "Spawned t_13 for X in /w/t_13",
    "Skipped (unassigned): t_15",
    "Skipped (lane has no worker.command): t_16",
    "Skipped (there is no profile ghost): t_17",
    "Skipped (the configuration of broken cannot be read): t_18",
    "Skipped (other is not in kanban.dispatch_profiles): t_19",
    "Skipped (in review, and kanban.review_dispatch is off): t_20",
    "Held back until 1970-01-01T00:00:00.000Z (it rests after a failure): t_21",
    "Deferred (X at per-profile cap, 3 running): t_22, t_23",
    "Deferred (kanban.max_in_progress, 5 running): t_24",
    "Deferred (1 spawned, as many as asked for): t_25",
  ]);
});

test("K33 of many tasks that wait for the same reason the first are named, and the others are counted", () => {
  const tasks = (count: number) => Array.from({ length: count }, (_, index) => `t_${index}`);
  const result = {
    ...emptyResult(),
    crashed: tasks(8),
    skipped_unassigned: tasks(6),
    respawn_guarded: tasks(7).map((task) => ({ task, reason: "retry_backoff", until: 0 })),
    skipped_capped: tasks(149).map((task) => ({ task, cap: "max_spawn" as const, running: 1 })),
  };
  expect(describeResult(result)).toEqual([
    // What has happened to a task is said of each.
    "Crashed: t_0, t_1, t_2, t_3, t_4, t_5, t_6, t_7",
    "Skipped (unassigned): t_0, t_1, t_2, t_3, t_4, t_5",
    "Held back until 1970-01-01T00:00:00.000Z (it rests after a failure): t_0, t_1, t_2, t_3, t_4 and 2 more",
    "Deferred (kanban.max_spawn, 1 running): t_0, t_1, t_2, t_3, t_4 and 144 more",
  ]);
});

test("K16 K33 of a dry run it is said that nothing of it has happened", () => {
  const result = {
    ...emptyResult(),
    reclaimed: ["t_1"],
    promoted: ["t_2"],
    auto_assigned_default: [{ task: "t_3", assignee: "X" }],
    spawned: [{ task: "t_3", assignee: "X", workspace: "scratch" }],
    skipped_unassigned: ["t_4"],
  };
  expect(describeResult(result, { dryRun: true })).toEqual([
    "Would reclaim: t_1",
    "Would wake, since their time has come: t_2",
    "Would auto-assign to kanban.default_assignee='X': t_3",
    "Would spawn t_3 for X in scratch",
    "Skipped (unassigned): t_4",
  ]);
});
