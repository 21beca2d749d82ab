import { describe, expect, test } from "vitest";
import type { WorkerExit } from "../board/exit.ts";
import type { Run } from "../board/runs.ts";
import type { BlockKind } from "../board/schema.ts";
import type { Task } from "../board/task.ts";
import { type ProfileFacts, pickupProblems, type WhyInput, whyNotRunning } from "./why.ts";

const NOW = 1_000_000;
const writer: ProfileFacts = { name: "writer", state: "spawnable" };

/** Of a task that the dispatcher is about to take, but for what is given. */
function input({
  task,
  ...rest
}: Omit<Partial<WhyInput>, "facts"> & { task?: Partial<Task>; facts?: Partial<WhyInput["facts"]> }): WhyInput {
  const { facts, settings, ...others } = rest;
  return {
    now: NOW,
    running: { everywhere: {}, board: {} },
    boardArchived: false,
    profile: writer,
    ...others,
    settings: {
      defaultAssignee: null,
      maxPerProfile: null,
      maxInProgress: null,
      maxSpawn: null,
      reviews: true,
      profiles: null,
      ...settings,
    },
    facts: {
      task: {
        id: "t_1",
        board: "default",
        status: "ready",
        assignee: "writer",
        guard: null,
        blocked: null,
        lastError: null,
        ...task,
      } as Task,
      unfinishedParents: [],
      leader: { holder: "d", expiresAt: NOW + 1 },
      ...facts,
    },
  };
}

describe("why a task does not run", () => {
  test("K12 there is no reason for one that is about to be taken, runs, or is finished", () => {
    expect(whyNotRunning(input({}))).toEqual([]);
    for (const status of ["running", "done", "archived"] as const) {
      expect(whyNotRunning(input({ task: { status }, profile: null, facts: { leader: null }, boardArchived: true }))).toEqual([]);
    }
  });

  describe("although it counts as running", () => {
    const why = (run: Partial<Run>, leader: WhyInput["facts"]["leader"] = { holder: "d", expiresAt: NOW + 1 }) => {
      const openRun = { id: 7, worker: { pid: 1 }, revokedAt: null, ...run } as Run;
      return whyNotRunning(input({ task: { status: "running" }, facts: { openRun, leader } }));
    };
    const exit = (fields: Partial<WorkerExit>) => ({ exit: { code: null, signal: null, reason: "exited", ...fields } });

    test("K12 there is no reason while its worker works, or a person has it", () => {
      expect(why({})).toEqual([]);
      expect(why({ worker: null }, null)).toEqual([]);
    });

    test.each([
      [exit({ code: 127 }), "exit status 127"],
      [exit({ signal: "SIGKILL" }), "by SIGKILL"],
      [exit({}), "it is not known how"],
      [exit({ reason: "start_failed", error: "no engine\nat all" }), "it could not be started: no engine …"],
      [exit({ reason: "timed_out" }), "it ran longer than it may"],
      [exit({ reason: "claim_lost" }), "its claim was lost"],
      [exit({ reason: "stopped" }), "its supervisor was told to stop"],
    ])("K12 its worker has ended: %j", (worker, how) => {
      expect(why({ worker })).toEqual([
        { kind: "worker-ended", run: 7, ...worker, text: `its worker has ended (${how}), and a dispatcher has to judge it`, fix: null },
      ]);
    });

    test("K12 and no dispatcher is alive that could judge it", () => {
      expect(why({ worker: exit({ code: 1 }) }, null).map(({ kind }) => kind)).toEqual(["worker-ended", "no-dispatcher"]);
    });

    test("K12 K18 its run was revoked, and it is not known that its worker is dead", () => {
      const fix = "if that lasts: holdfast kanban reclaim t_1 says what is in the way";
      const [plain] = why({ revokedAt: NOW });
      expect(plain).toMatchObject({ kind: "being-ended", since: NOW, exit: null, fix });
      expect(plain?.text).toMatch(
        /^run 7 was revoked at \S+, and it is not known yet that its worker is dead; until then it stays running$/,
      );
      const [ended] = why({ revokedAt: NOW, worker: exit({ code: 1 }) });
      expect(ended?.text).toMatch(/, and its worker has ended \(exit status 1\), but it is not known yet that nothing of it is left;/);
    });
  });

  const parents = [{ id: "t_0", title: "before", status: "running" }] as const;
  const blocked = { by: "writer", reason: "which logo?", kind: "needs_input" } as const;
  test.each<[string, WhyInput, object, string | RegExp]>([
    ["triage", input({ task: { status: "triage" } }), { kind: "triage" }, /in triage/],
    [
      "waiting for parents",
      input({ task: { status: "todo" }, facts: { unfinishedParents: parents } }),
      { kind: "waiting", parents },
      "it waits for t_0 (running)",
    ],
    [
      "scheduled",
      input({ task: { status: "scheduled", scheduledFor: 86_400_000 } }),
      { kind: "scheduled", until: 86_400_000 },
      "it is scheduled for 1970-01-02T00:00:00.000Z",
    ],
    [
      "blocked",
      input({ task: { status: "blocked", blocked } }),
      { kind: "blocked", by: "writer", reason: "which logo?", blockKind: "needs_input" },
      "it is blocked by writer (needs_input): which logo?",
    ],
    [
      "given up, with the end of a log",
      input({ task: { status: "blocked", blocked: { by: "d", reason: "exit 1\nlog\nmore", kind: "gave_up" } } }),
      { kind: "blocked", reason: "exit 1\nlog\nmore", blockKind: "gave_up" },
      /^it is blocked by d \(given up\): exit 1: … more$/,
    ],
    [
      "resting after a failure",
      input({ task: { guard: { reason: "retry_backoff", until: NOW + 1 }, lastError: "exit 1\ncannot find compiler\n" } }),
      { kind: "guarded", reason: "retry_backoff", fix: "holdfast kanban log t_1" },
      /: it rests after a failure: exit 1: cannot find compiler$/,
    ],
    [
      "in review",
      input({ task: { status: "review", implementer: "coder" } }),
      { kind: "review", reviewer: "writer", implementer: "coder" },
      "it waits for a review by writer",
    ],
    ["of an archived board", input({ boardArchived: true }), { kind: "board-archived", board: "default" }, /default is archived/],
    ["unassigned", input({ task: { assignee: null }, profile: null }), { kind: "unassigned" }, /no assignee, and kanban.default_assignee/],
    [
      "of a profile that is missing",
      input({ profile: { name: "writer", state: "missing" } }),
      { kind: "profile-missing", profile: "writer", byDefault: false },
      "there is no profile writer",
    ],
    [
      "of a default assignee that is missing",
      input({ task: { assignee: null }, profile: { name: "writer", state: "missing" } }),
      { kind: "profile-missing", profile: "writer", byDefault: true },
      "there is no profile writer, which kanban.default_assignee names",
    ],
    [
      "of a profile that cannot be read",
      input({ profile: { name: "writer", state: "unreadable", error: "bad" } }),
      { kind: "profile-unreadable", profile: "writer", error: "bad" },
      /writer cannot be read: bad/,
    ],
    [
      "of a profile that is not spawnable",
      input({ profile: { name: "writer", state: "not-spawnable" } }),
      { kind: "profile-not-spawnable", profile: "writer" },
      /writer has no worker.command/,
    ],
    [
      "of a profile that this dispatcher leaves alone",
      input({ settings: { profiles: ["editor"] } as never }),
      { kind: "profile-not-dispatched", profile: "writer" },
      /dispatch_profiles does not name writer/,
    ],
    [
      "guarded",
      input({ task: { guard: { reason: "rate limited", until: NOW + 1 } } }),
      { kind: "guarded", reason: "rate limited", until: NOW + 1 },
      /held back until .*: rate limited/,
    ],
    [
      "capped per profile",
      input({ settings: { maxPerProfile: 2 } as never, running: { everywhere: { writer: 2, editor: 5 }, board: {} } }),
      { kind: "capped", cap: "max_in_progress_per_profile", limit: 2, running: 2, profiles: { writer: 2 } },
      "kanban.max_in_progress_per_profile is 2, and 2 run (writer 2)",
    ],
    [
      "capped on the board",
      input({ settings: { maxSpawn: 1 } as never, running: { everywhere: { editor: 1 }, board: { editor: 1 } } }),
      { kind: "capped", cap: "max_spawn", limit: 1, running: 1, profiles: { editor: 1 } },
      "kanban.max_spawn is 1, and 1 run (editor 1)",
    ],
    [
      "capped everywhere",
      input({ settings: { maxInProgress: 3 } as never, running: { everywhere: { editor: 1, writer: 2 }, board: {} } }),
      { kind: "capped", cap: "max_in_progress", limit: 3, running: 3, profiles: { editor: 1, writer: 2 } },
      "kanban.max_in_progress is 3, and 3 run (editor 1, writer 2)",
    ],
    [
      "without a dispatcher",
      input({ facts: { leader: { holder: "d", expiresAt: NOW } } }),
      { kind: "no-dispatcher", board: "default", since: NOW },
      /no dispatcher is alive on the board default since/,
    ],
  ])("K12 %s", (_, facts, expected, text) => {
    const reasons = whyNotRunning(facts);
    expect(reasons).toHaveLength(1);
    expect(reasons[0]).toMatchObject(expected);
    expect(reasons[0]?.text).toMatch(text);
  });

  test("K12 what is to be done about a blocked task depends on its kind: an answer or a look at the log comes first", () => {
    const fix = (kind: BlockKind | null) =>
      whyNotRunning(input({ task: { status: "blocked", blocked: { by: "writer", reason: "x", kind } } })).map((why) => why.fix);
    expect(fix("needs_input")).toEqual(["holdfast kanban comment t_1 TEXT, then holdfast kanban unblock t_1"]);
    expect(fix("gave_up")).toEqual(["holdfast kanban log t_1, then holdfast kanban unblock t_1"]);
    expect(fix("capability")).toEqual(["holdfast kanban unblock t_1"]);
    expect(fix(null)).toEqual(["holdfast kanban unblock t_1"]);
  });

  test("K12 all reasons are told, the weightiest first; a guard that is over and caps with room are none", () => {
    const facts = input({
      task: { status: "review", guard: { reason: "x", until: NOW } },
      settings: { reviews: false, maxInProgress: 2 } as never,
      running: { everywhere: { writer: 1 }, board: {} },
      profile: { name: "writer", state: "missing" },
      facts: { leader: null },
    });
    expect(whyNotRunning(facts).map(({ kind }) => kind)).toEqual(["review", "profile-missing", "reviews-off", "no-dispatcher"]);
  });

  test("S17 K12 a sandbox that the last run used although settings had changed is told last, one that was replaced is not", () => {
    const drift = { sandbox: "t_1", changed: ["cpu (made with: 1; now: 2)"], replaced: false };
    const blocked = { by: "writer", reason: "x", kind: null };
    const why = (replaced: boolean) => {
      const lastRun = { id: 7, profile: "writer", worker: { drift: { ...drift, replaced } } };
      return whyNotRunning(input({ task: { status: "blocked", blocked }, facts: { lastRun } }));
    };
    expect(why(true).map(({ kind }) => kind)).toEqual(["blocked"]);
    expect(why(false)).toMatchObject([
      { kind: "blocked" },
      {
        kind: "drifted",
        run: 7,
        text: "run 7 did not have all settings that are configured: its sandbox had been made with other settings: cpu (made with: 1; now: 2); it was used as it was",
        fix: "holdfast sandbox reset t_1 -p writer, unless that was done since",
      },
    ]);
  });

  test("K12 a scheduled task needs a dispatcher to wake", () => {
    const facts = input({ task: { status: "scheduled", scheduledFor: NOW + 5 }, facts: { leader: null } });
    expect(whyNotRunning(facts).map(({ kind }) => kind)).toEqual(["scheduled", "no-dispatcher"]);
  });

  test("K34 what keeps a task from being picked up counts in every status, and says what to do", () => {
    const facts = input({ task: { status: "todo", assignee: null }, profile: null, facts: { leader: null } });
    const problems = pickupProblems(facts);
    expect(problems.map(({ kind }) => kind)).toEqual(["unassigned", "no-dispatcher"]);
    expect(problems.map(({ fix }) => fix)).toEqual([expect.stringContaining("kanban assign t_1 "), "holdfast kanban dispatch --watch"]);
  });
});
