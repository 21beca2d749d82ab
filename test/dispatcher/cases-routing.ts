/** @module Default assignees, caps and the dry run. */
import { expect } from "vitest";
import { emptyResult } from "../../src/dispatcher/result.ts";
import { type Bench, ME } from "./bench.ts";
import { type Cases, spawn } from "./kit.ts";

const DEFAULT = "kanban.default_assignee";

export const assigneeCases: Cases = {
  "K14 an unassigned ready task gets the default, in the row and with an event, and is spawned in the same pass": async (bench) => {
    const { dispatcher, store, settings } = bench;
    settings.defaultAssignee = "writer";
    const { id } = await bench.task({ assignee: null });
    const result = await dispatcher.runOnce("default");
    expect(result).toMatchObject({
      auto_assigned_default: [{ task: id, assignee: "writer" }],
      spawned: [{ task: id, assignee: "writer" }],
    });
    expect(result.skipped_unassigned).toEqual([]);
    expect(await store.getTask(id)).toMatchObject({ assignee: "writer", status: "running" });
    const assigned = (await store.events({ task: id })).filter(({ kind }) => kind === "assigned");
    expect(assigned.map(({ payload }) => payload)).toEqual([{ assignee: "writer", source: DEFAULT }]);
  },
  "K14 none: unassigned tasks wait as before": async ({ dispatcher, task, store }) => {
    const { id } = await task({ assignee: null });
    expect(await dispatcher.runOnce("default")).toEqual({ ...emptyResult(), skipped_unassigned: [id] });
    expect(await store.getTask(id)).toMatchObject({ assignee: null, status: "ready" });
  },
  "K14 a task that has an assignee is untouched": async ({ dispatcher, task, settings, store }) => {
    settings.defaultAssignee = "writer";
    const { id } = await task();
    expect(await dispatcher.runOnce("default")).toMatchObject({ auto_assigned_default: [], spawned: [{ task: id, assignee: "coder" }] });
    expect(await store.getTask(id)).toMatchObject({ assignee: "coder" });
  },
  "K14 somebody else assigns it at the same moment: it is skipped, not overwritten": async (bench) => {
    const { store, settings, world } = bench;
    settings.defaultAssignee = "writer";
    const { id } = await bench.task({ assignee: null });
    const { assign } = store;
    // The other one is always quicker.
    store.assign = async (task, assignee, options) => {
      await assign(task, "coder", ME);
      return await assign(task, assignee, options);
    };
    const result = await bench.another("late").runOnce("default");
    store.assign = assign;
    expect(result).toEqual(emptyResult());
    expect(await store.getTask(id)).toMatchObject({ assignee: "coder", status: "ready" });
    expect(world.workers).toEqual([]);
  },
  "K14 a default that is a lane gets the task, which waits there; one that does not exist gets none": async (bench) => {
    const { dispatcher, store, settings } = bench;
    settings.defaultAssignee = "ghost";
    const { id } = await bench.task({ assignee: null });
    expect(await dispatcher.runOnce("default")).toEqual({ ...emptyResult(), skipped_unassigned: [id] });
    settings.defaultAssignee = "lane";
    expect(await dispatcher.runOnce("default")).toMatchObject({
      auto_assigned_default: [{ task: id, assignee: "lane" }],
      skipped_nonspawnable: [{ task: id, assignee: "lane", reason: "no_command" }],
    });
    expect(await store.getTask(id)).toMatchObject({ assignee: "lane", status: "ready" });
    expect(await dispatcher.runOnce("default")).toMatchObject({ auto_assigned_default: [] });
  },
  "K14 K15 tasks that get the default count towards its cap": async ({ dispatcher, task, settings, store }) => {
    settings.defaultAssignee = "coder";
    settings.maxPerProfile = 1;
    const [first, second] = [await task({ assignee: null }), await task({ assignee: null })];
    expect(await dispatcher.runOnce("default")).toMatchObject({
      auto_assigned_default: [{ task: first.id }, { task: second.id }],
      spawned: [{ task: first.id }],
      skipped_per_profile_capped: [{ task: second.id, assignee: "coder", running: 1 }],
    });
    expect(await store.getTask(second.id)).toMatchObject({ assignee: "coder" });
  },
};

const tasks = async ({ task }: Bench, assignees: readonly string[]) => {
  const made: string[] = [];
  for (const assignee of assignees) made.push((await task({ assignee })).id);
  return made;
};
const ids = (entries: readonly { task: string }[]) => entries.map(({ task }) => task);

export const capCases: Cases = {
  "K15 no cap: all are spawned": async (bench) => {
    const made = await tasks(bench, ["coder", "coder", "coder", "writer"]);
    expect(ids((await bench.dispatcher.runOnce("default")).spawned)).toEqual(made);
  },
  "K15 per profile: each spawn of the pass counts, and other profiles are not held up": async (bench) => {
    bench.settings.maxPerProfile = 2;
    const [a, b, c, d, e] = await tasks(bench, ["coder", "coder", "coder", "writer", "coder"]);
    const result = await bench.dispatcher.runOnce("default");
    expect(ids(result.spawned)).toEqual([a, b, d]);
    expect(result.skipped_per_profile_capped).toEqual([
      { task: c, assignee: "coder", running: 2 },
      { task: e, assignee: "coder", running: 2 },
    ]);
  },
  "K15 per profile: those that ran before the pass count": async (bench) => {
    await spawn(bench);
    bench.settings.maxPerProfile = 1;
    const [next] = await tasks(bench, ["coder"]);
    expect((await bench.dispatcher.runOnce("default")).skipped_per_profile_capped).toEqual([{ task: next, assignee: "coder", running: 1 }]);
  },
  "K15 per profile: runs on other boards count": async (bench) => {
    await bench.store.createBoard("other", ME);
    await bench.task({ board: "other" });
    await bench.dispatcher.runOnce("other");
    bench.settings.maxPerProfile = 1;
    const [next] = await tasks(bench, ["coder"]);
    expect(ids((await bench.dispatcher.runOnce("default")).skipped_per_profile_capped)).toEqual([next]);
  },
  "K15 the rest is taken by a later pass when there is room": async (bench) => {
    bench.settings.maxPerProfile = 1;
    const [first, second] = await tasks(bench, ["coder", "coder"]);
    await bench.dispatcher.runOnce("default");
    expect((await bench.dispatcher.runOnce("default")).spawned).toEqual([]);
    await bench.store.complete(first ?? "", {}, { token: bench.world.of(first ?? "").token });
    expect(ids((await bench.dispatcher.runOnce("default")).spawned)).toEqual([second]);
  },
  "K15 max_in_progress counts all boards and profiles": async (bench) => {
    await bench.store.createBoard("other", ME);
    await bench.task({ board: "other" });
    await bench.dispatcher.runOnce("other");
    bench.settings.maxInProgress = 2;
    const [a, b] = await tasks(bench, ["coder", "writer"]);
    const result = await bench.dispatcher.runOnce("default");
    expect(ids(result.spawned)).toEqual([a]);
    expect(result.skipped_capped).toEqual([{ task: b, cap: "max_in_progress", running: 2 }]);
  },
  "K15 max_spawn counts this board only": async (bench) => {
    await bench.store.createBoard("other", ME);
    await bench.task({ board: "other" });
    await bench.dispatcher.runOnce("other");
    bench.settings.maxSpawn = 1;
    const [a, b] = await tasks(bench, ["coder", "writer"]);
    const result = await bench.dispatcher.runOnce("default");
    expect(ids(result.spawned)).toEqual([a]);
    expect(result.skipped_capped).toEqual([{ task: b, cap: "max_spawn", running: 1 }]);
  },
  "K15 max of one pass limits its spawns": async (bench) => {
    const [a, b] = await tasks(bench, ["coder", "writer"]);
    const result = await bench.dispatcher.runOnce("default", { max: 1 });
    expect(ids(result.spawned)).toEqual([a]);
    expect(result.skipped_capped).toEqual([{ task: b, cap: "max", running: 1 }]);
    expect(ids((await bench.dispatcher.runOnce("default", { max: 1 })).spawned)).toEqual([b]);
  },
  "K15 all caps at once, in all combinations, are never exceeded and never leave room unused": async (bench) => {
    const combinations = [1, 2, null].flatMap((perProfile) =>
      [2, 3, null].flatMap((all) => [1, 3, null].map((here) => ({ perProfile, all, here }))),
    );
    for (const { perProfile, all, here } of combinations) {
      const board = `b-${perProfile}-${all}-${here}`;
      await bench.store.createBoard(board, ME);
      Object.assign(bench.settings, { maxPerProfile: perProfile, maxInProgress: all, maxSpawn: here });
      for (const assignee of ["coder", "coder", "coder", "writer"]) await bench.task({ board, assignee });
      const result = await bench.dispatcher.runOnce(board);
      const most = Math.min(perProfile === null ? 4 : Math.min(3, perProfile) + 1, all ?? 4, here ?? 4);
      expect([board, result.spawned.length]).toEqual([board, most]);
      expect(result.skipped_capped.length + result.skipped_per_profile_capped.length).toBe(4 - most);
      for (const { task } of result.spawned) await bench.store.complete(task, {}, { token: bench.world.of(task).token });
    }
  },
  "K15 two boards that are dispatched at the same time do not exceed a cap together": async (bench) => {
    const boards = ["default", "other", "third"];
    for (const board of boards.slice(1)) await bench.store.createBoard(board, ME);
    bench.settings.maxInProgress = 3;
    for (const board of boards) for (let count = 0; count < 3; count += 1) await bench.task({ board });
    const results = await Promise.all(boards.map((board) => bench.dispatcher.runOnce(board)));
    expect(results.flatMap(({ spawned }) => spawned)).toHaveLength(3);
  },
};
