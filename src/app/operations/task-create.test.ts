import { describe, expect, test } from "vitest";
import { createKanbanApp } from "../../../test/helpers/test-app.ts";
import { configSet } from "./config-set.ts";
import { taskCreate } from "./task-create.ts";
import { taskShow } from "./task-show.ts";

const kinds = (reasons: readonly { kind: string }[]) => reasons.map(({ kind }) => kind);

describe("making a task", () => {
  test("K29 is refused with so many skills that no answer could tell of it", async () => {
    await using board = await createKanbanApp();
    const make = (count: number) =>
      taskCreate.run(board.app, { title: "x", skills: Array.from({ length: count }, (_, index) => `s${index}`) });
    await expect(make(101)).rejects.toMatchObject({ code: "invalid-input", message: expect.stringContaining("at most 100 names") });
    expect((await make(100)).task.skills).toHaveLength(100);
  });

  test("K34 warns while nothing would pick it up, until everything is there", async () => {
    await using board = await createKanbanApp();
    const { app, kanban } = board;
    const warnings = async (assignee?: string) => kinds((await taskCreate.run(await board.open(), { title: "x", assignee })).warnings);
    expect(await warnings()).toEqual(["unassigned", "no-dispatcher"]);
    expect(await warnings("writer")).toEqual(["profile-missing", "no-dispatcher"]);
    await app.profiles.create("writer");
    expect(await warnings("writer")).toEqual(["profile-not-spawnable", "no-dispatcher"]);
    await configSet.run(await app.forProfile("writer"), { key: "worker.command", value: '["true"]' });
    expect(await warnings("writer")).toEqual(["no-dispatcher"]);
    await kanban.store.lead("default", "d", { ttlMs: 600_000 });
    expect(await warnings("writer")).toEqual([]);
    expect(await warnings()).toEqual(["unassigned"]);
    await configSet.run(app, { key: "kanban.default_assignee", value: "writer" });
    expect(await warnings()).toEqual([]);
    await kanban.store.resign("default", "d");
    expect(await warnings()).toEqual(["no-dispatcher"]);
  });

  test("K34 has nothing to warn of for what is put aside", async () => {
    await using board = await createKanbanApp();
    expect((await taskCreate.run(board.app, { title: "x", triage: true })).warnings).toEqual([]);
    expect((await taskCreate.run(board.app, { title: "x", blocked: "wait" })).warnings).toEqual([]);
  });

  test("K12 the same reasons stand in show", async () => {
    await using board = await createKanbanApp();
    const { task } = await taskCreate.run(board.app, { title: "x", assignee: "writer" });
    expect(kinds((await taskShow.run(board.app, { id: task.id })).why)).toEqual(["profile-missing", "no-dispatcher"]);
    const child = await taskCreate.run(board.app, { title: "y", parents: [task.id] });
    expect((await taskShow.run(board.app, { id: child.task.id })).why).toEqual([
      expect.objectContaining({ kind: "waiting", parents: [{ id: task.id, title: "x", status: "ready" }] }),
    ]);
  });

  test("K29 a worker makes tasks as its run, on its own board only", async () => {
    await using board = await createKanbanApp();
    await board.kanban.store.createBoard("other", { by: "me" });
    const { task } = await taskCreate.run(board.app, { title: "x", assignee: "writer" });
    const { app: worker } = await board.work(task.id);
    const made = await taskCreate.run(worker, { title: "more" });
    expect(made).toMatchObject({ task: { createdBy: "writer", board: "default" }, warnings: [] });
    await expect(taskCreate.run(worker, { title: "more", board: "other" })).rejects.toMatchObject({ code: "move-refused" });
  });

  test("K5 K30 the directory of a board is the repository of worktrees, and never what a task gets that asks for nothing", async () => {
    await using board = await createKanbanApp();
    await board.kanban.store.createBoard("site", { by: "me", defaultWorkdir: "/srv/site" });
    const { task } = await taskCreate.run(board.app, { title: "x", board: "site" });
    expect(task.workspace).toBe("scratch");
    expect((await taskCreate.run(board.app, { title: "x", board: "site", workspace: "worktree" })).task.workspace).toBe("worktree");
  });
});
