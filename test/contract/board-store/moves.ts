/** @module Cases: links, moves, and what they leave behind. */
import { expect } from "vitest";
import type { AttachmentQuota } from "../../../src/board/notes.ts";
import type { Actor } from "../../../src/board/state.ts";
import type { Task } from "../../../src/board/task.ts";
import { type Cases, ME } from "./kit.ts";

export const moveCases: Cases = {
  "K7 what the table does not allow is refused with the reason, and changes nothing": async ({ store, create, board }) => {
    const { id } = await create();
    await store.archive(id, ME);
    const before = await store.lastEvent();
    const attempts = [
      store.claim(id, { by: "d" }),
      store.complete(id, {}, ME),
      store.block(id, { reason: "x" }, ME),
      store.unblock(id, ME),
      store.schedule(id, 5, ME),
      store.promote(id, ME),
      store.requestReview(id, {}, ME),
      store.archive(id, ME),
    ];
    for (const refused of await Promise.allSettled(attempts)) {
      expect(refused).toMatchObject({ status: "rejected", reason: { code: "move-refused", facts: { task: id, status: "archived" } } });
    }
    expect(await store.lastEvent()).toBe(before);
    expect(await store.runs({ board })).toEqual([]);
  },

  "K7 a running task is moved by its run only": async ({ store, taken }) => {
    const { task, run } = await taken();
    const refused = { code: "move-refused", message: expect.stringContaining("running") };
    await expect(store.complete(task.id, {}, ME)).rejects.toMatchObject(refused);
    await expect(store.block(task.id, { reason: "x" }, ME)).rejects.toMatchObject(refused);
    await expect(store.archive(task.id, ME)).rejects.toMatchObject(refused);
    await expect(store.schedule(task.id, 5, ME)).rejects.toMatchObject(refused);
    await expect(store.assign(task.id, "other", ME)).rejects.toMatchObject(refused);
    expect(await store.runs({ task: task.id, open: true })).toMatchObject([{ id: run.id }]);
  },

  "K8 a child waits for every parent and is ready at once when the last one is finished": async ({ store, create, statusOf }) => {
    const [one, two] = [await create(), await create()];
    const child = await create({ parents: [one.id, two.id, one.id] });
    expect(child.status).toBe("todo");
    await expect(store.claim(child.id, { by: "d" })).rejects.toMatchObject({ code: "move-refused" });
    await expect(store.complete(child.id, {}, ME)).rejects.toMatchObject({ code: "move-refused" });
    const { token } = await store.claim(one.id, { by: "d" });
    await store.complete(one.id, {}, { token });
    expect(await statusOf(child)).toBe("todo");
    await store.archive(two.id, ME);
    expect(await statusOf(child)).toBe("ready");
    expect((await store.parents(child.id)).map(({ id }) => id)).toEqual([one.id, two.id]);
    expect((await store.children(one.id)).map(({ id }) => id)).toEqual([child.id]);
  },

  "K8 a new child of finished parents is ready": async ({ store, create }) => {
    const parent = await create();
    await store.complete(parent.id, {}, ME);
    expect((await create({ parents: [parent.id] })).status).toBe("ready");
  },

  "K8 a link to an unfinished parent holds the child back, and without it the child goes on": async ({ store, create, statusOf }) => {
    const [parent, child] = [await create(), await create()];
    await store.link(parent.id, child.id, ME);
    await store.link(parent.id, child.id, ME);
    expect(await statusOf(child)).toBe("todo");
    await store.unlink(parent.id, child.id, ME);
    await store.unlink(parent.id, child.id, ME);
    expect(await statusOf(child)).toBe("ready");
    const kinds = (await store.events({ task: child.id })).map(({ kind }) => kind);
    expect(kinds).toEqual(["created", "linked", "held", "unlinked", "promoted"]);
  },

  "K8 no task waits for itself, for one that waits for it, or for one of another board": async ({ store, create, board }) => {
    const a = await create();
    const b = await create({ parents: [a.id] });
    const c = await create({ parents: [b.id] });
    const refused = { code: "link-refused", hint: expect.any(String) };
    await expect(store.link(a.id, a.id, ME)).rejects.toMatchObject(refused);
    await expect(store.link(b.id, a.id, ME)).rejects.toMatchObject(refused);
    await expect(store.link(c.id, a.id, ME)).rejects.toMatchObject(refused);
    await store.createBoard(`${board}-z`, ME);
    const { task: stranger } = await store.createTask({ title: "x", board: `${board}-z` }, ME);
    await expect(store.link(stranger.id, a.id, ME)).rejects.toMatchObject(refused);
    await expect(create({ parents: [stranger.id] })).rejects.toMatchObject(refused);
    await expect(create({ parents: ["t_00000000"] })).rejects.toMatchObject({ code: "task-not-found" });
    await store.complete(a.id, {}, ME);
    await expect(store.link(c.id, a.id, ME)).rejects.toMatchObject(refused);
  },

  "K8 a run that finds that another task comes first waits for it, and cannot complete before": async ({
    store,
    taken,
    create,
    statusOf,
  }) => {
    const { task, token } = await taken();
    await expect(store.block(task.id, { reason: "x", kind: "dependency" }, { token })).rejects.toMatchObject({ code: "move-refused" });
    const { task: first } = await store.createTask({ title: "first", board: task.board }, { task: task.id, token });
    await store.link(first.id, task.id, { task: task.id, token });
    await expect(store.complete(task.id, {}, { token })).rejects.toMatchObject({ code: "move-refused" });
    expect((await store.block(task.id, { reason: "needs it", kind: "dependency" }, { token })).status).toBe("todo");
    await store.complete(first.id, {}, ME);
    expect(await statusOf(task)).toBe("ready");
    expect((await create()).createdBy).toBe("me");
    expect((await store.getTask(first.id)).createdBy).toBe("dispatcher");
  },

  "K9 completing or blocking a task that was never taken leaves a run": async ({ store, create }) => {
    const [done, blocked] = [await create(), await create()];
    await store.complete(done.id, { summary: "by hand", metadata: { files: ["a"] } }, ME);
    await store.block(blocked.id, { reason: "who knows", kind: "needs_input" }, ME);
    expect(await store.runs({ task: done.id })).toMatchObject([
      { profile: "me", outcome: "completed", summary: "by hand", metadata: { files: ["a"] }, startedAt: expect.any(Number) },
    ]);
    expect(await store.runs({ task: blocked.id })).toMatchObject([{ outcome: "blocked", summary: "who knows" }]);
    expect(await store.getTask(blocked.id)).toMatchObject({ blocked: { kind: "needs_input", reason: "who knows", by: "me" } });
    expect((await store.unblock(blocked.id, ME)).blocked).toBeNull();
  },

  "K9 comments, attachments and events are kept in order": async ({ store, taken, clock }) => {
    const { task, token, run } = await taken({ assignee: "coder" });
    await store.comment(task.id, "from me", ME);
    await clock.advance(5);
    await store.comment(task.id, "from the run", { token });
    const file = { name: "a.txt", path: "/srv/a.txt", contentType: "text/plain", size: 25 * 1024 * 1024 };
    await store.addAttachment(task.id, file, { token });
    await expect(store.addAttachment(task.id, { ...file, size: file.size + 1 }, { token })).rejects.toMatchObject({ code: "too-large" });
    expect(await store.comments(task.id)).toMatchObject([
      { author: "me", body: "from me", run: null },
      { author: "coder", body: "from the run", run: run.id, createdAt: clock.now() },
    ]);
    expect(await store.attachments(task.id)).toMatchObject([{ ...file, addedBy: "coder", run: run.id }]);
    const events = await store.events({ task: task.id });
    expect(events.map(({ kind }) => kind)).toEqual(["created", "claimed", "commented", "commented", "attached"]);
    const second = events[1]?.id ?? 0;
    expect((await store.events({ task: task.id, since: second, limit: 2 })).map(({ kind }) => kind)).toEqual(["commented", "commented"]);
  },

  "K29 the runs of a task attach as many files and bytes as they may, whatever people attach and however many there are": async ({
    store,
    taken,
  }) => {
    const { task, token, run } = await taken({ assignee: "coder" });
    let count = 0;
    const file = { name: "a.txt", contentType: "text/plain" };
    const attach = (size: number, actor: Actor, quota: AttachmentQuota) => {
      count += 1;
      return store.addAttachment(task.id, { ...file, size, path: `/srv/${count}` }, actor, quota);
    };
    const [few, small] = [
      { files: 2, bytes: 0 },
      { files: 0, bytes: 25 },
    ];
    await attach(100, ME, few);
    const tries = await Promise.allSettled([1, 2, 3, 4].map(() => attach(10, { token }, few)));
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    await expect(attach(10, { token }, few)).rejects.toMatchObject({
      code: "too-large",
      message: expect.stringContaining("attached 2 files already, and 2 are the most"),
      hint: expect.stringContaining("kanban.attach_max_files"),
    });
    await store.release(run.id, { outcome: "reclaimed", by: "dispatcher" });
    const { token: next } = await store.claim(task.id, { by: "dispatcher" });
    await expect(attach(10, { token: next }, few)).rejects.toMatchObject({ code: "too-large" });
    await expect(attach(6, { token: next }, small)).rejects.toMatchObject({
      message: expect.stringContaining("would have attached 26 bytes, and 25 are the most"),
    });
    await attach(5, { token: next }, small);
    await attach(10, ME, few);
    expect((await store.attachments(task.id)).map(({ size }) => size)).toEqual([100, 10, 10, 5, 10]);
  },

  "K17 K29 the last words of a run, and what it attaches, said again count once; other words are refused": async ({
    store,
    taken,
    create,
  }) => {
    const words: Record<string, (id: string, actor: Actor, text: string) => Promise<Task>> = {
      complete: (id, actor, summary) => store.complete(id, { summary, metadata: { a: [1] }, cost: 0.25, tokens: 7 }, actor),
      block: (id, actor, reason) => store.block(id, { reason, kind: "needs_input" }, actor),
      review: (id, actor, summary) => store.requestReview(id, { summary, reviewer: "editor" }, actor),
    };
    for (const [name, say] of Object.entries(words)) {
      const { task, token, run } = await taken({ assignee: "coder" });
      const file = { name: "a.txt", path: `/srv/${task.id}`, contentType: "text/plain", size: 10 };
      const attached = await store.addAttachment(task.id, file, { token });
      expect(await store.addAttachment(task.id, file, { token })).toEqual(attached);
      const said = await say(task.id, { token }, "the word");
      const events = await store.events({ task: task.id });
      expect(await say(task.id, { token }, "the word"), name).toEqual(said);
      expect(await store.events({ task: task.id })).toEqual(events);
      await expect(say(task.id, { token }, "another word")).rejects.toMatchObject({ code: "claim-lost" });
      await expect(say(task.id, { token: `${token}0` }, "the word")).rejects.toMatchObject({ code: "claim-lost" });
      for (const [other, sayOther] of Object.entries(words))
        if (other !== name) await expect(sayOther(task.id, { token }, "the word")).rejects.toMatchObject({ code: "claim-lost" });
      expect(await store.runs({ task: task.id })).toMatchObject([{ id: run.id, summary: "the word" }]);
      expect(await store.attachments(task.id)).toHaveLength(1);
    }
    const reviewed = await create({ assignee: "coder" });
    const { token: first } = await store.claim(reviewed.id, { by: "dispatcher" });
    await store.requestReview(reviewed.id, {}, { token: first });
    const { token } = await store.claim(reviewed.id, { by: "dispatcher" });
    const changed = await store.requestChanges(reviewed.id, { reason: "tests" }, { token });
    expect(await store.requestChanges(reviewed.id, { reason: "tests" }, { token })).toEqual(changed);
    // Somebody else is at work by then.
    const { run } = await store.claim(reviewed.id, { by: "dispatcher" });
    expect(await store.requestChanges(reviewed.id, { reason: "tests" }, { token })).toMatchObject({ status: "running" });
    expect((await store.runs({ task: reviewed.id })).at(-1)).toMatchObject({ id: run.id, endedAt: null });
    const { task, token: revoked, run: lost } = await taken({ assignee: "coder" });
    await store.release(lost.id, { by: "dispatcher", outcome: "reclaimed" });
    await expect(store.complete(task.id, {}, { token: revoked })).rejects.toMatchObject({ code: "claim-lost" });
  },

  "K29 a run comments on any task of its board in its own name, and on no other board": async ({ store, taken, create }) => {
    const { task, token, run } = await taken({ assignee: "coder" });
    const [other, far] = [await create(), await create({ board: "default" })];
    const author = { task: task.id, token };
    expect(await store.comment(other.id, "hello", author)).toMatchObject({ task: other.id, author: "coder", run: run.id });
    await expect(store.comment(far.id, "hello", author)).rejects.toMatchObject({ code: "move-refused" });
    await store.complete(task.id, {}, { token });
    await expect(store.comment(other.id, "late", author)).rejects.toMatchObject({ code: "claim-lost" });
  },

  "K32 the tasks that were finished last come first, if asked for": async ({ store, create, clock, board }) => {
    const [one, two, three] = [await create({ priority: 9 }), await create(), await create({ assignee: "coder" })];
    await clock.advance(1000);
    for (const task of [two, one]) {
      await clock.advance(1000);
      await store.complete(task.id, {}, ME);
      await store.archive(task.id, ME);
    }
    await store.archive(three.id, ME);
    const found = await store.listTasks({ board, status: "archived", newest: true });
    expect(found.map(({ id }) => id)).toEqual([one.id, two.id, three.id]);
    expect((await store.listTasks({ board, status: "archived", newest: true, limit: 1 })).map(({ id }) => id)).toEqual([one.id]);
    expect(await store.listTasks({ board, assignee: "coder", newest: true })).toMatchObject([{ id: three.id }]);
  },

  "K9 a review goes to the reviewer, and changes go back to whoever did the work": async ({ store, taken, statusOf }) => {
    const { task, token } = await taken({ assignee: "coder" });
    const asked = await store.requestReview(task.id, { summary: "please look", reviewer: "critic" }, { token });
    expect(asked).toMatchObject({ status: "review", phase: "review", assignee: "critic", implementer: "coder" });
    const review = await store.claim(task.id, { by: "d" });
    expect(review.run).toMatchObject({ profile: "critic", phase: "review" });
    await store.release(review.run.id, { by: "d", outcome: "crashed" });
    expect(await statusOf(task)).toBe("review");
    await store.block(task.id, { reason: "later" }, ME);
    expect((await store.unblock(task.id, ME)).status).toBe("review");
    const again = await store.claim(task.id, { by: "d" });
    expect(await store.requestChanges(task.id, { reason: "no tests" }, { token: again.token })).toMatchObject({
      status: "ready",
      phase: "work",
      assignee: "coder",
    });
    const work = await store.claim(task.id, { by: "d" });
    await expect(store.requestChanges(task.id, { reason: "x" }, { token: work.token })).rejects.toMatchObject({ code: "move-refused" });
  },

  "K10 a scheduled task wakes when its time has come, and not before": async ({ store, create, clock, statusOf, board }) => {
    const at = clock.now() + 1000;
    const parent = await create({ initial: "triage" });
    const [made, later] = [await create({ initial: "scheduled", scheduledFor: at }), await create()];
    const child = await create({ initial: "scheduled", scheduledFor: at, parents: [parent.id] });
    await store.schedule(later.id, at + 5000, { ...ME, reason: "not now" });
    await store.schedule(later.id, at + 1000, ME);
    expect(await store.nextTime(board)).toBe(at);
    expect(await store.wakeDue(at - 1)).toEqual([]);
    expect(await store.wakeDue(at)).toEqual([made.id, child.id]);
    expect(await store.wakeDue(at)).toEqual([]);
    expect([await statusOf(made), await statusOf(child), await statusOf(later)]).toEqual(["ready", "todo", "scheduled"]);
    expect((await store.unblock(later.id, ME)).scheduledFor).toBeNull();
    expect(await store.nextTime(board)).toBeNull();
  },

  "K11 cost and tokens are summed by task, profile and board": async ({ store, board, taken }) => {
    for (const profile of ["coder", "coder", "critic"]) {
      const { task, token } = await taken({ assignee: profile });
      await store.complete(task.id, { cost: 0.25, tokens: 1000 }, { token });
    }
    const silent = await taken({ assignee: "coder" });
    await store.complete(silent.task.id, {}, { token: silent.token });
    expect(await store.usage({ board })).toEqual({ runs: 4, cost: 0.75, tokens: 3000 });
    expect(await store.usage({ board, profile: "coder" })).toEqual({ runs: 3, cost: 0.5, tokens: 2000 });
    expect(await store.usage({ task: silent.task.id })).toEqual({ runs: 1, cost: 0, tokens: 0 });
    const { task, token } = await taken();
    await expect(store.complete(task.id, { cost: -1 }, { token })).rejects.toMatchObject({ code: "invalid-input" });
    await expect(store.complete(task.id, { tokens: Number.NaN }, { token })).rejects.toMatchObject({ code: "invalid-input" });
  },

  "K12 the facts for why are there": async ({ store, create, board, clock }) => {
    const parent = await create({ title: "first" });
    const child = await create({ parents: [parent.id] });
    await store.lead(board, "machine-1", { ttlMs: 1000 });
    expect(await store.whyFacts(child.id)).toMatchObject({
      task: { id: child.id, assignee: null },
      unfinishedParents: [{ id: parent.id, title: "first", status: "ready" }],
      openRun: null,
      leader: { holder: "machine-1", expiresAt: clock.now() + 1000 },
    });
    const { run } = await store.claim(parent.id, { by: "d", profile: "coder" });
    expect(await store.whyFacts(parent.id)).toMatchObject({ unfinishedParents: [], openRun: { id: run.id, profile: "coder" } });
    expect(await store.running(board)).toEqual({ coder: 1 });
  },

  "triage is left by a person, and nothing else takes it": async ({ store, create }) => {
    const idea = await create({ initial: "triage" });
    await expect(store.claim(idea.id, { by: "d" })).rejects.toMatchObject({ code: "move-refused" });
    expect((await store.promote(idea.id, ME)).status).toBe("ready");
    const blocked = await create({ initial: "blocked", reason: "wait for legal" });
    expect(blocked).toMatchObject({ status: "blocked", blocked: { reason: "wait for legal", by: "me" } });
  },
};
