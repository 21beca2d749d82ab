/** @module Cases: boards and the fields of tasks. */
import { expect } from "vitest";
import { type Cases, ME } from "./kit.ts";

export const boardCases: Cases = {
  "K5 default is always there, and can neither be archived nor removed": async ({ store }) => {
    expect((await store.getBoard("default")).slug).toBe("default");
    await expect(store.archiveBoard("default", ME)).rejects.toMatchObject({ code: "move-refused" });
    await expect(store.removeBoard("default", ME)).rejects.toMatchObject({ code: "move-refused" });
  },

  "K5 a board is made, found, renamed, archived and removed": async ({ store, board }) => {
    const slug = `${board}-x`;
    const made = await store.createBoard(` ${slug.toUpperCase()} `, { ...ME, description: "for a test", defaultWorkdir: "/srv/x" });
    expect(made).toMatchObject({ slug, name: slug, description: "for a test", defaultWorkdir: "/srv/x", archivedAt: null });
    await expect(store.createBoard(slug, ME)).rejects.toMatchObject({ code: "board-exists" });
    expect((await store.editBoard(slug, { ...ME, name: "A Name" })).name).toBe("A Name");
    expect(await store.getBoard(slug)).toMatchObject({ slug, name: "A Name", description: "for a test" });
    const { task } = await store.createTask({ title: "a", board: slug }, ME);
    await store.archiveBoard(slug, ME);
    const listed = async (archived: boolean) => (await store.listBoards({ archived })).map((each) => each.slug);
    expect(await listed(false)).not.toContain(slug);
    expect(await listed(true)).toContain(slug);
    await expect(store.createTask({ title: "b", board: slug }, ME)).rejects.toMatchObject({ code: "board-not-found" });
    await store.removeBoard(slug, ME);
    await expect(store.getBoard(slug)).rejects.toMatchObject({ code: "board-not-found" });
    await expect(store.getTask(task.id)).rejects.toMatchObject({ code: "task-not-found" });
    expect(await store.events({ board: slug })).toEqual([]);
  },

  "K5 ids of events that went with a board are not given again": async ({ store, board, create }) => {
    const slug = `${board}-x`;
    await store.createBoard(slug, ME);
    await store.createTask({ title: "a", board: slug }, ME);
    const seen = await store.lastEvent();
    await store.removeBoard(slug, ME);
    await create();
    expect((await store.events({ since: seen, board })).map(({ kind }) => kind)).toEqual(["created"]);
  },

  "K5 a board with a running task stays": async ({ store, board, taken }) => {
    const { task, token } = await taken();
    await expect(store.removeBoard(board, ME)).rejects.toMatchObject({ code: "move-refused" });
    await expect(store.archiveBoard(board, ME)).rejects.toMatchObject({ code: "move-refused" });
    await store.complete(task.id, {}, { token });
    await store.removeBoard(board, ME);
  },

  "K5 a run writes on its own board only": async ({ store, taken, board }) => {
    await store.createBoard(`${board}-x`, ME);
    const [one, two] = [
      await store.createTask({ title: "a", board: `${board}-x` }, ME),
      await store.createTask({ title: "b", board: `${board}-x` }, ME),
    ];
    const { task, token } = await taken();
    const run = { task: task.id, token };
    const refused = { code: "move-refused", message: expect.stringContaining(`${board}-x`) };
    await expect(store.createTask({ title: "c", board: `${board}-x` }, run)).rejects.toMatchObject(refused);
    await expect(store.link(one.task.id, two.task.id, run)).rejects.toMatchObject(refused);
    await expect(store.unlink(one.task.id, two.task.id, run)).rejects.toMatchObject(refused);
    expect((await store.createTask({ title: "c", board }, run)).created).toBe(true);
  },

  "K5 hostile names of boards are refused": async ({ store }) => {
    for (const slug of ["", "../x", "a/b", "-a", "a b", "é", "x".repeat(65), "a\0", "'; drop table boards; --"]) {
      await expect(store.createBoard(slug, ME), slug).rejects.toMatchObject({ code: "invalid-name" });
      await expect(store.createTask({ title: "a", board: slug }, ME), slug).rejects.toMatchObject({ code: "invalid-name" });
    }
  },

  "K6 a task keeps what was said about it": async ({ store, board, clock }) => {
    const fields = {
      title: "'; drop table tasks; -- ${x} \u202e ü 🙂",
      body: "several\nlines\t\"'`$(reboot)`\n",
      assignee: "Coder",
      priority: 7,
      tenant: "acme",
      workspace: "dir:/srv/x",
      branch: "b",
      idempotencyKey: "k",
      maxRuntimeMs: 5000,
      maxRetries: 3,
      skills: ["one", "two"],
      model: "m",
      deadline: clock.now() + 1000,
    };
    const { task, created } = await store.createTask({ ...fields, board }, ME);
    expect(created).toBe(true);
    expect(task).toMatchObject({ ...fields, assignee: "coder", board, status: "ready", createdBy: "me", createdAt: clock.now() });
    expect(task.id).toMatch(/^t_[0-9a-f]{8}$/);
    expect(await store.getTask(task.id)).toEqual(task);
  },

  "K6 an idempotency key gives the first task again, also to those who ask at once, and only on its board": async ({ store, board }) => {
    const ask = (where: string) => store.createTask({ title: "a", board: where, idempotencyKey: "same" }, ME);
    const all = await Promise.all([ask(board), ask(board), ask(board), ask(board)]);
    expect(new Set(all.map(({ task }) => task.id)).size).toBe(1);
    expect(all.filter(({ created }) => created)).toHaveLength(1);
    expect((await store.events({ board })).filter(({ kind }) => kind === "created")).toHaveLength(1);
    await store.createBoard(`${board}-y`, ME);
    expect((await ask(`${board}-y`)).created).toBe(true);
  },

  "K6 what no database can hold, or nobody could mean, is refused": async ({ store, board }) => {
    const wrong = [
      { title: "" },
      { title: "a\nb" },
      { title: "a\0" },
      { title: "\ud800" },
      { body: "a\0" },
      { body: "x".repeat(1024 * 1024 + 1) },
      { priority: 1.5 },
      { priority: 2 ** 31 },
      { workspace: "dir:relative" },
      { workspace: "dir:/a/../../etc" },
      { workspace: "elsewhere" },
      { maxRetries: -1 },
      { skills: [""] },
      { initial: "scheduled" as const },
      { scheduledFor: 5 },
      { title: 5 as unknown as string },
    ];
    for (const fields of wrong) {
      await expect(store.createTask({ title: "a", board, ...fields }, ME), JSON.stringify(fields)).rejects.toMatchObject({
        code: "invalid-input",
      });
    }
    await expect(store.createTask({ title: "a", board, assignee: "../x" }, ME)).rejects.toMatchObject({ code: "invalid-name" });
    expect(await store.listTasks({ board })).toEqual([]);
  },

  "K6 a task is edited and assigned, and every change leaves an event": async ({ store, create, board }) => {
    const { id } = await create();
    expect(await store.editTask(id, { title: "new", priority: 2, tenant: null }, ME)).toMatchObject({ title: "new", priority: 2 });
    await store.editTask(id, { title: "new" }, ME);
    await store.assign(id, "coder", ME);
    await store.assign(id, "tester", { ...ME, source: "kanban.default_assignee", ifUnassigned: true });
    expect(await store.getTask(id)).toMatchObject({ title: "new", priority: 2, assignee: "coder" });
    const events = await store.events({ board, task: id });
    expect(events.map(({ kind, payload, actor }) => [kind, actor, payload])).toEqual([
      ["created", "me", { from: "new", to: "ready" }],
      ["edited", "me", { fields: ["title", "priority"] }],
      ["assigned", "me", { assignee: "coder" }],
    ]);
  },

  "K2 a profile that gets another name keeps its unfinished tasks, also those it gets back after a review": async (kit) => {
    const { store, create, taken, board } = kit;
    const [from, to] = [`old-${board}`, `new-${board}`];
    const { task: failed, run } = await taken({ assignee: from });
    await store.release(run.id, { by: "d", outcome: "crashed", failureLimit: 9 });
    const reviewed = await create({ assignee: from });
    await store.requestReview(reviewed.id, { reviewer: "critic" }, ME);
    const [done, other] = [await create({ assignee: from }), await create({ assignee: "coder" })];
    await store.complete(done.id, {}, ME);
    const before = await store.lastEvent();

    expect(await store.renameProfile(from, to, ME)).toBe(2);
    expect(await store.getTask(failed.id)).toMatchObject({ assignee: to, failures: 1 });
    expect(await store.getTask(reviewed.id)).toMatchObject({ assignee: "critic", implementer: to });
    expect(await store.getTask(done.id)).toMatchObject({ assignee: from });
    expect(await store.getTask(other.id)).toMatchObject({ assignee: "coder" });
    const payload = { assignee: to, source: "profile rename" };
    expect(await store.events({ since: before })).toMatchObject([{ kind: "assigned", task: failed.id, actor: "me", payload }]);
    const { token } = await store.claim(reviewed.id, { by: "d" });
    expect(await store.requestChanges(reviewed.id, { reason: "no tests" }, { token })).toMatchObject({ assignee: to });
    expect(await store.renameProfile(from, to, ME)).toBe(0);
  },

  "tasks are listed by priority, then age, and filtered": async ({ store, create, board, clock }) => {
    const low = await create({ title: "low", priority: -1 });
    const old = await create({ title: "old", assignee: "coder" });
    await clock.advance(-1000);
    const young = await create({ title: "young", tenant: "acme", workspace: "worktree:/repo" });
    const high = await create({ title: "high", priority: 5, initial: "triage", workspace: "worktree" });
    const titles = async (filter: Parameters<typeof store.listTasks>[0]) =>
      (await store.listTasks({ board, ...filter })).map(({ title }) => title);
    expect(await titles({})).toEqual(["high", "old", "young", "low"]);
    expect(await titles({ status: "ready", limit: 2 })).toEqual(["old", "young"]);
    expect(await titles({ status: ["triage", "done"] })).toEqual(["high"]);
    expect(await titles({ assignee: "coder" })).toEqual(["old"]);
    expect(await titles({ assignee: null, tenant: "acme" })).toEqual(["young"]);
    expect(await titles({ workspace: "worktree" })).toEqual(["high", "young"]);
    expect(await store.counts(board)).toMatchObject({ ready: 3, triage: 1, done: 0 });
    expect([low.seq, old.seq, young.seq, high.seq]).toEqual([low.seq, old.seq, young.seq, high.seq].sort((a, b) => a - b));
  },
};
