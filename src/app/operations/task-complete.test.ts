import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createKanbanApp, type KanbanApp } from "../../../test/helpers/test-app.ts";
import { taskComplete } from "./task-complete.ts";

/** A worker in a workspace with a file. */
async function working(board: KanbanApp, parents: string[] = []) {
  const { task } = await board.kanban.store.createTask({ title: "x", assignee: "writer", parents }, { by: "me" });
  const workspace = join(board.directory, "workspace");
  await mkdir(workspace, { recursive: true });
  await writeFile(join(workspace, "report.md"), "# all fine");
  const { app, claim } = await board.work(task.id, { HOLDFAST_WORKSPACE: workspace });
  return { app, claim, task, workspace };
}

async function kept(board: KanbanApp, task: string): Promise<string[]> {
  return readdir(board.kanban.files.attachments("default", task)).catch(() => []);
}

describe("completing a task", () => {
  test("K29 K30 a worker leaves out its id; artifacts are kept, and are known to whoever comes next", async () => {
    await using board = await createKanbanApp();
    const { app, task } = await working(board);
    const { store } = board.kanban;
    const { task: made } = await store.createTask({ title: "next" }, { by: "me" });
    const result = await taskComplete.run(app, {
      summary: "done",
      metadata: { files: 1 },
      artifacts: ["report.md"],
      created: [made.id],
      cost: 0.5,
      tokens: 7,
    });
    expect(result).toMatchObject({ task: { id: task.id, status: "done" }, artifacts: [{ name: "report.md", addedBy: "writer" }] });
    expect(await readFile(result.artifacts[0]?.path ?? "", "utf8")).toBe("# all fine");
    const [run] = await store.runs({ task: task.id });
    expect(run).toMatchObject({ outcome: "completed", summary: "done", cost: 0.5, tokens: 7 });
    expect(run?.metadata).toEqual({ files: 1, created: [made.id], artifacts: ["report.md"] });
  });

  test("K29 one that names tasks nobody made is refused, and counts for nothing", async () => {
    await using board = await createKanbanApp();
    const { app, task } = await working(board);
    const { store } = board.kanban;
    await store.createBoard("other", { by: "me" });
    const { task: elsewhere } = await store.createTask({ title: "y", board: "other" }, { by: "me" });
    for (const created of ["t_00000000", elsewhere.id]) {
      await expect(taskComplete.run(app, { created: [created], artifacts: ["report.md"] })).rejects.toMatchObject({
        code: "move-refused",
        message: expect.stringContaining(created),
      });
    }
    expect(await store.getTask(task.id)).toMatchObject({ status: "running", failures: 0, violations: 0 });
    expect(await kept(board, task.id)).toEqual([]);
  });

  test("K29 one whose metadata are too deep to be shown again is refused", async () => {
    await using board = await createKanbanApp();
    const { app, task } = await working(board);
    const nested = (times: number) => JSON.parse(`${"[".repeat(times)}${"]".repeat(times)}`) as unknown;
    await expect(taskComplete.run(app, { metadata: { a: nested(200_000) } })).rejects.toMatchObject({
      code: "invalid-input",
      message: "metadata must not be nested more than 500 times",
    });
    expect(await board.kanban.store.getTask(task.id)).toMatchObject({ status: "running" });
    expect(await taskComplete.run(app, { metadata: { a: nested(400) } })).toMatchObject({ task: { status: "done" } });
  });

  test("K30 one whose artifact cannot be kept fails, says which, and does not happen", async () => {
    await using board = await createKanbanApp();
    const { app, task, workspace } = await working(board);
    await writeFile(join(board.directory, "secret"), "s");
    await symlink("../secret", join(workspace, "link"));
    await symlink("..", join(workspace, "up"));
    for (const path of ["none.pdf", "link", "up/secret", "../secret", "/etc/passwd"]) {
      await expect(taskComplete.run(app, { artifacts: ["report.md", path] })).rejects.toMatchObject({
        message: expect.stringContaining(path),
      });
    }
    expect(await board.kanban.store.getTask(task.id)).toMatchObject({ status: "running", failures: 0 });
    expect(await kept(board, task.id)).toEqual([]);
    expect(await board.kanban.store.attachments(task.id)).toEqual([]);
    expect(await taskComplete.run(app, {})).toMatchObject({ task: { status: "done" } });
  });

  test("K17 K29 a worker that lost its claim, or whose task waits again, keeps no artifact", async () => {
    await using board = await createKanbanApp();
    const { store } = board.kanban;
    const { app, task, claim } = await working(board);
    const { task: parent } = await store.createTask({ title: "first" }, { by: "me" });
    await store.link(parent.id, task.id, { by: "me" });
    await expect(taskComplete.run(app, { artifacts: ["report.md"] })).rejects.toMatchObject({ code: "move-refused" });
    await store.revoke(claim.run.id, { by: "me", reason: "test" });
    await expect(taskComplete.run(app, { artifacts: ["report.md"] })).rejects.toMatchObject({ code: "claim-lost" });
    expect(await kept(board, task.id)).toEqual([]);
    expect(await store.attachments(task.id)).toEqual([]);
  });

  test("K29 a worker completes no other task, and a person none that runs", async () => {
    await using board = await createKanbanApp();
    const { app, task } = await working(board);
    const { task: other } = await board.kanban.store.createTask({ title: "y" }, { by: "me" });
    await expect(taskComplete.run(app, { id: other.id })).rejects.toMatchObject({ code: "move-refused" });
    await expect(taskComplete.run(board.app, { id: task.id })).rejects.toMatchObject({ code: "move-refused" });
    await expect(taskComplete.run(board.app, {})).rejects.toMatchObject({ code: "invalid-input" });
    expect(await taskComplete.run(board.app, { id: other.id })).toMatchObject({ task: { status: "done" } });
  });
});
