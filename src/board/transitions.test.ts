import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Action, MOVES, type Move, type MoveFacts, type Mover, nextStatus, PHASES, STATUSES, type Status } from "./transitions.ts";

const ACTIONS = [...new Set<Action>(MOVES.map(({ action }) => action))];
const MOVERS: Mover[] = ["person", "worker", "dispatcher", "board"];
const FREE: MoveFacts = { by: "person", parentsDone: true, phase: "work" };

describe("K7 the table of moves", () => {
  test.each([
    ["a new task is ready", "new", "create", FREE, "ready"],
    ["a new task with an unfinished parent waits", "new", "create", { ...FREE, parentsDone: false }, "todo"],
    ["the last parent is finished", "todo", "promote", { ...FREE, by: "board" }, "ready"],
    [
      "a task in review waits for a parent and comes back to review",
      "todo",
      "promote",
      { ...FREE, by: "board", phase: "review" },
      "review",
    ],
    ["a run begins", "ready", "claim", { ...FREE, by: "dispatcher" }, "running"],
    ["a review begins", "review", "claim", { ...FREE, by: "dispatcher", phase: "review" }, "running"],
    ["the run ends well", "running", "complete", { ...FREE, by: "worker" }, "done"],
    ["the run waits for another task", "running", "wait", { ...FREE, by: "worker", parentsDone: false }, "todo"],
    ["a crashed run leaves the task ready", "running", "release", { ...FREE, by: "dispatcher" }, "ready"],
    ["a crashed review leaves the task in review", "running", "release", { ...FREE, by: "dispatcher", phase: "review" }, "review"],
    ["an unblocked review is a review", "blocked", "unblock", { ...FREE, phase: "review" }, "review"],
    ["changes are work", "running", "request changes", { ...FREE, by: "worker", phase: "review" }, "ready"],
    ["its time has come, but a parent is unfinished", "scheduled", "wake", { ...FREE, by: "board", parentsDone: false }, "todo"],
    ["too many failures", "running", "give up", { ...FREE, by: "dispatcher" }, "blocked"],
  ] as const)("%s", (...[, from, action, facts, to]) => {
    expect(nextStatus(from, action, facts)).toMatchObject({ to });
  });

  test.each([
    ["done", "claim", FREE, "it is done, and claim is for tasks that are ready or review"],
    ["running", "archive", FREE, "it is running, and only its run or the dispatcher can move it"],
    ["running", "complete", FREE, "it is running, where only its run can do that"],
    ["ready", "claim", { ...FREE, parentsDone: false }, "it has an unfinished parent"],
    ["running", "wait", { ...FREE, by: "worker" }, "it has no unfinished parent"],
    ["running", "request changes", { ...FREE, by: "worker" }, "this run is not a review"],
  ] as const)("says why a task that is %s cannot %s", (from, action, facts, refused) => {
    expect(nextStatus(from, action, facts)).toEqual({ refused });
  });

  test("has no two moves for the same action, status and mover", () => {
    const moves: readonly Move[] = MOVES;
    const keys = moves.flatMap(({ action, from, by }) => from.flatMap((status) => by.map((mover) => `${action}/${status}/${mover}`)));
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });

  test("leads to every status, and from every status", () => {
    const moves: readonly Move[] = MOVES;
    const reached = new Set(moves.flatMap(({ to }) => (to === "landing" ? ["todo", "ready", "review"] : [to])));
    expect(STATUSES.filter((status) => !reached.has(status))).toEqual([]);
    expect(STATUSES.filter((status) => !moves.some(({ from }) => from.includes(status)))).toEqual([]);
  });

  test("while a task is running, nobody but its run and the dispatcher can move it", () => {
    for (const action of ACTIONS)
      for (const by of ["person", "board"] as const)
        for (const parentsDone of [true, false])
          for (const phase of PHASES) expect(nextStatus("running", action, { by, parentsDone, phase })).toHaveProperty("refused");
  });
});

test("K7 K8 whatever happens in whatever order: nothing is free with an unfinished parent, and a review stays one until its end", () => {
  const steps = fc.array(fc.record({ action: fc.constantFrom(...ACTIONS), by: fc.constantFrom(...MOVERS), parentsDone: fc.boolean() }), {
    minLength: 20,
    maxLength: 60,
  });
  fc.assert(
    fc.property(steps, (sequence) => {
      let at: { to: Status | "new"; phase: (typeof PHASES)[number] } = { to: "new", phase: "work" };
      for (const { action, by, parentsDone } of sequence) {
        const verdict = nextStatus(at.to, action, { by, parentsDone, phase: at.phase });
        if ("refused" in verdict) {
          expect(verdict.refused).toMatch(/^(it|this run) .+/);
          continue;
        }
        if (!parentsDone) expect(["ready", "running", "review", "done"]).not.toContain(verdict.to);
        if (at.phase === "review" && verdict.phase === "work") expect(["request changes", "reopen"]).toContain(action);
        if (verdict.to === "ready") expect(verdict.phase).toBe("work");
        if (at.to === "archived") expect(action).toBe("reopen");
        at = verdict;
      }
    }),
    { numRuns: 500 },
  );
});
