import { describe, expect, test } from "vitest";
import type { Run } from "../../board/runs.ts";
import type { Task } from "../../board/task.ts";
import { kanbanOptions } from "../../dispatcher/options.ts";
import { type KanbanValues, readSettings } from "../../dispatcher/settings.ts";
import { BOARD_RULES } from "./board-rules.ts";
import type { BoardFacts } from "./diagnostic.ts";
import { TASK_RULES } from "./task-rules.ts";

const NOW = 1_700_000_000_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const defaults = Object.fromEntries(Object.entries(kanbanOptions).map(([key, option]) => [key, option.default])) as KanbanValues;

function task(fields: Partial<Task> = {}): Task {
  const base = {
    id: "t_00000001",
    status: "ready",
    assignee: "ada",
    failures: 0,
    violations: 0,
    lastError: null,
    blocked: null,
    deadline: null,
  };
  return { ...base, ...fields } as Task;
}

function facts(change: Partial<BoardFacts> & { values?: Partial<KanbanValues> }): BoardFacts {
  const { values = {}, ...rest } = change;
  return {
    now: NOW,
    board: "default",
    dispatched: true,
    tasks: [],
    blockedSince: new Map(),
    openRuns: [],
    profiles: [
      { name: "ada", spawnable: true, problem: null },
      { name: "lane", spawnable: false, problem: null },
      { name: "broken", spawnable: false, problem: "bad yaml" },
    ],
    running: { here: {}, everywhere: {} },
    settings: readSettings({ ...defaults, ...values }),
    faults: [],
    walBytes: 0,
    ...rest,
  };
}

function found(change: Parameters<typeof facts>[0]): string[] {
  return [...BOARD_RULES, ...TASK_RULES].flatMap((rule) => rule(facts(change))).map(({ rule, severity }) => `${severity} ${rule}`);
}

const run = (fields: Partial<Run>) =>
  ({
    id: 1,
    task: "t_00000001",
    profile: "ada",
    startedAt: NOW,
    heartbeatAt: null,
    expiresAt: NOW + HOUR,
    worker: null,
    revokedAt: null,
    ...fields,
  }) as Run;
const exited = { exit: { code: 127, signal: null, reason: "exited" } };
const MINUTE = 60_000;

describe("K32 diagnostics", () => {
  test.for<[string, Parameters<typeof facts>[0], string[]]>([
    ["nothing of a board that is well", { tasks: [task()], openRuns: [run({})] }, []],
    ["that nobody dispatches while tasks wait", { tasks: [task()], dispatched: false }, ["error no-dispatcher"]],
    ["nothing of that while none waits", { tasks: [task({ status: "todo" })], dispatched: false }, []],
    ["nothing of that for tasks that people take", { tasks: [task({ assignee: "lane" })], dispatched: false }, ["warning not-spawnable"]],
    ["a profile that cannot be read", { tasks: [task({ assignee: "broken" })] }, ["error profile-broken"]],
    ["an assignee that is no profile", { tasks: [task({ assignee: "gone" })] }, ["error profile-missing"]],
    ["the same of a task that waits", { tasks: [task({ assignee: "gone", status: "todo" })] }, ["warning profile-missing"]],
    ["tasks of nobody", { tasks: [task({ assignee: null })] }, ["warning unassigned"]],
    ["nothing of them when somebody gets them", { tasks: [task({ assignee: null })], values: { default_assignee: "ada" } }, []],
    ["failures in a row", { tasks: [task({ failures: 2 })] }, ["warning failures"]],
    ["nothing of one failure", { tasks: [task({ failures: 1 })] }, []],
    [
      "a task that was given up",
      { tasks: [task({ status: "blocked", failures: 2, blocked: { kind: "gave_up", reason: null, by: "board" } })] },
      ["error gave-up"],
    ],
    [
      "a task that is blocked for days",
      { tasks: [task({ status: "blocked" })], blockedSince: new Map([["t_00000001", NOW - 2 * DAY]]) },
      ["warning blocked-long"],
    ],
    ["nothing of one that is new", { tasks: [task({ status: "blocked" })], blockedSince: new Map([["t_00000001", NOW - HOUR]]) }, []],
    ["a worker that is silent", { openRuns: [run({ startedAt: NOW - 3 * HOUR, heartbeatAt: NOW - 2 * HOUR })] }, ["warning heartbeat"]],
    ["a claim that has ended", { openRuns: [run({ expiresAt: NOW - 1 })] }, ["error claim-expired"]],
    ["a worker that has ended while nobody judges it", { openRuns: [run({ worker: exited })], dispatched: false }, ["error worker-ended"]],
    ["nothing of one that a dispatcher is about to judge", { openRuns: [run({ worker: exited })] }, []],
    [
      "the same when it does not",
      { openRuns: [run({ worker: exited, startedAt: NOW - 2 * HOUR, expiresAt: NOW - HOUR })] },
      ["error worker-ended"],
    ],
    ["a run that cannot be ended", { openRuns: [run({ revokedAt: NOW - 2 * MINUTE, expiresAt: NOW - HOUR })] }, ["error being-ended"]],
    ["nothing of one that is just being ended", { openRuns: [run({ revokedAt: NOW - 1000 })] }, []],
    ["a deadline that has passed", { tasks: [task({ deadline: NOW - HOUR })] }, ["error deadline-missed"]],
    ["a deadline that is near", { tasks: [task({ deadline: NOW + HOUR })] }, ["warning deadline-near"]],
    ["nothing of one that is far", { tasks: [task({ deadline: NOW + 2 * DAY })] }, []],
    ["what the database says", { faults: ["t_1 is odd"], walBytes: 2 ** 30 }, ["error fault", "warning large-wal"]],
    [
      "caps that are used up",
      { tasks: [task()], values: { max_in_progress: "2", max_spawn: "1" }, running: { here: { ada: 1 }, everywhere: { ada: 2 } } },
      ["warning cap", "warning cap"],
    ],
    ["nothing of caps while nobody waits", { values: { max_spawn: "1" }, running: { here: { ada: 1 }, everywhere: {} } }, []],
    ["that no profile may work", { tasks: [task()], values: { dispatch_profiles: "" } }, ["error cap"]],
    ["caps that are ignored", { values: { max_spawn: "-3" } }, ["warning bad-setting"]],
  ])("tell %s", ([, change, expected]) => expect(found(change)).toEqual(expected));

  test("K10 K32 of a missed deadline say both what changes it and what lets the task go on", () => {
    const todo = (change: Partial<Task>) =>
      TASK_RULES.flatMap((rule) => rule(facts({ tasks: [task({ deadline: NOW - HOUR, ...change })] }))).map((finding) => finding.todo);
    expect(todo({})).toEqual(["`holdfast kanban edit t_00000001 --deadline TIME` gives it another one"]);
    expect(todo({ status: "blocked" })).toEqual([
      "`holdfast kanban edit t_00000001 --deadline TIME` gives it another one, `holdfast kanban unblock t_00000001` lets it go on",
    ]);
  });

  test("K32 tell how many runs failed or said nothing, and the first line of the last error", () => {
    const blocked = { kind: "gave_up", reason: "x", by: "board" } as const;
    const textOf = (change: Partial<Task>) =>
      TASK_RULES.flatMap((rule) => rule(facts({ tasks: [task({ status: "blocked", blocked, ...change })] })))[0]?.text;
    expect(textOf({ violations: 3, lastError: "it said nothing\nlog\n" })).toBe(
      "t_00000001 was given up after 3 runs that ended without a word: it said nothing …",
    );
    expect(textOf({ failures: 1, violations: 2 })).toMatch(/after 1 run that failed and 2 runs that ended without a word$/);
  });

  test("say what to do, each of them", () => {
    const change = { tasks: [task({ assignee: "gone", failures: 3, deadline: 1 })], dispatched: false, faults: ["odd"] };
    const all = [...BOARD_RULES, ...TASK_RULES].flatMap((rule) => rule(facts(change)));
    expect(all.length).toBeGreaterThan(3);
    for (const { text, todo } of all) expect([text, todo]).toEqual([expect.stringMatching(/\S/), expect.stringMatching(/\S/)]);
  });
});
