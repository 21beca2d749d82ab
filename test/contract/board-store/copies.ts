/** @module Cases: boards that are exported and imported. */
import { expect } from "vitest";
import type { ExportedBoard } from "../../../src/board/export-board.ts";
import { type Cases, type Kit, ME } from "./kit.ts";

/** A board with some of everything, as it comes out of a file. */
async function exported(kit: Kit): Promise<ExportedBoard> {
  const { store, board, create, taken } = kit;
  const parent = await taken({ title: "parent", assignee: "coder", repeat: "every 1h", idempotencyKey: "k", skills: ["s"] });
  await store.comment(parent.task.id, "from the run", { token: parent.token });
  await store.addAttachment(parent.task.id, { name: "a.txt", path: "/files/a", contentType: "text/plain", size: 3 }, ME);
  await store.complete(parent.task.id, { summary: "s", metadata: { a: 1 }, cost: 1, tokens: 2 }, { token: parent.token });
  const running = await taken({ title: "running", parents: [parent.task.id] });
  await store.recordWorker(running.task.id, running.token, { pid: 1 });
  await create({ title: "waiting", parents: [running.task.id], deadline: 5 });
  await create({ title: "blocked", initial: "blocked", reason: "why" });
  await store.archive((await create({ title: "archived", priority: 2 ** 31 - 1 })).id, ME);
  return JSON.parse(JSON.stringify(await store.exportBoard(board))) as ExportedBoard;
}

type Broken = {
  -readonly [Key in keyof ExportedBoard]: ExportedBoard[Key] extends readonly (infer Entry)[] ? Record<keyof Entry, unknown>[] : never;
};

export const copyCases: Cases = {
  "K5 a board is exported whole, without what would let anybody write as a run": async (kit) => {
    const data = await exported(kit);
    const titles = ["parent", "parent", "running", "waiting", "blocked", "archived"];
    expect(data).toMatchObject({ version: 1, board: { slug: kit.board } });
    expect(data.tasks.map(({ title }) => title)).toEqual(titles);
    expect([data.links.length, data.comments.length, data.attachments.length, data.runs.length]).toEqual([2, 1, 1, 2]);
    expect(data.events).toEqual(await kit.store.events({ board: kit.board }));
    expect(JSON.stringify(data)).not.toMatch(/token_?hash/i);
    await expect(kit.store.exportBoard("nowhere")).rejects.toMatchObject({ code: "board-not-found" });
  },

  "K5 beside the board it came from, a copy has ids of its own": async (kit) => {
    const { store, board, clock } = kit;
    const data = await exported(kit);
    await expect(store.importBoard(data, ME)).rejects.toMatchObject({ code: "board-exists" });
    const as = `${board}-copy`;
    const made = await store.importBoard(data, { ...ME, as, attachmentPath: ({ task, name }) => `/new/${task}/${name}` });
    expect(made).toMatchObject({ board: { slug: as, name: board }, leftOut: [] });
    const copy = await store.exportBoard(as);
    const idOf = (id: string) => made.ids[id] ?? id;
    expect(new Set([...Object.keys(made.ids), ...Object.values(made.ids)]).size).toBe(2 * data.tasks.length);

    const plain = (tasks: ExportedBoard["tasks"]) => tasks.map(({ id: _, seq, board: __, series, successor, status, ...rest }) => rest);
    expect(plain(copy.tasks)).toEqual(plain(data.tasks));
    expect(copy.tasks.map(({ status }) => status)).toEqual(["done", "scheduled", "ready", "todo", "blocked", "archived"]);
    expect(copy.tasks.map(({ series, successor }) => [series, successor])).toEqual(
      data.tasks.map(({ series, successor }) => [series && idOf(series), successor && idOf(successor)]),
    );
    const pairs = ({ links }: ExportedBoard, map = (id: string) => id) =>
      links.map(({ parent, child }) => `${map(parent)} ${map(child)}`).toSorted();
    expect(pairs(copy)).toEqual(pairs(data, idOf));
    expect(copy.runs).toMatchObject([
      { outcome: "completed", summary: "s", metadata: { a: 1 }, cost: 1, tokens: 2, profile: "coder" },
      { outcome: "reclaimed", endedAt: clock.now(), worker: null },
    ]);
    expect(copy.comments).toMatchObject([
      { body: "from the run", author: "coder", run: copy.runs[0]?.id, task: idOf(data.tasks[0]?.id ?? "") },
    ]);
    expect(copy.attachments).toMatchObject([{ path: `/new/${idOf(data.tasks[0]?.id ?? "")}/a.txt`, name: "a.txt", size: 3 }]);
    const kinds = data.events.map(({ kind }) => kind);
    expect(copy.events.map(({ kind }) => kind)).toEqual([...kinds, "board_imported", "reclaimed"]);
    expect(copy.events.find(({ kind }) => kind === "commented")?.payload).toEqual({ comment: copy.comments[0]?.id });
    expect(copy.events.find(({ kind }) => kind === "attached")?.payload).toMatchObject({ attachment: copy.attachments[0]?.id });
    const told = JSON.stringify(copy);
    for (const { id } of data.tasks) expect(told).not.toContain(id);
    expect(await store.check()).toEqual([]);
    await store.archive(idOf(data.tasks[1]?.id ?? ""), ME);
    await store.archive(data.tasks[1]?.id ?? "", ME);
  },

  "K5 where its ids are free, a board comes back as it was": async (kit) => {
    const { store, board } = kit;
    const data = await exported(kit);
    await store.release(data.runs[1]?.id ?? 0, { by: "d", outcome: "reclaimed" });
    await store.removeBoard(board, ME);
    const { ids, leftOut } = await store.importBoard(data, ME);
    expect(Object.entries(ids).every(([old, id]) => old === id)).toBe(true);
    // The files of attachments did not come along, and where the data say they are is not believed.
    expect(leftOut).toEqual(["a.txt"]);
    const again = await store.exportBoard(board);
    const same = ({ tasks }: ExportedBoard) => tasks.map(({ seq, status, ...task }) => task);
    expect(same(again)).toEqual(same(data));
    expect(again.attachments).toEqual([]);
    const running = await store.claim(data.tasks[2]?.id ?? "", { by: "d" });
    await store.complete(running.task.id, {}, { token: running.token });
    expect((await store.getTask(data.tasks[3]?.id ?? "")).status).toBe("ready");
    await store.archive(data.tasks[1]?.id ?? "", ME);
  },

  "K5 statuses that cannot be on a board are put right": async (kit) => {
    const { store, board } = kit;
    const data = structuredClone(await exported(kit)) as unknown as Broken;
    Object.assign(data.tasks[3] ?? {}, { status: "ready" });
    Object.assign(data.tasks[4] ?? {}, { status: "todo" });
    const { ids } = await store.importBoard(data as unknown as ExportedBoard, { ...ME, as: `${board}-copy` });
    const statuses = await Promise.all(Object.values(ids).map(async (id) => (await store.getTask(id)).status));
    expect(statuses).toEqual(["done", "scheduled", "ready", "todo", "ready", "archived"]);
    expect(await store.check()).toEqual([]);
    await store.archive(data.tasks[1]?.id as string, ME);
    await store.archive(ids[data.tasks[1]?.id as string] ?? "", ME);
  },

  "K5 hostile data are refused as a whole": async (kit) => {
    const { store, board } = kit;
    const good = await exported(kit);
    const before = await store.lastEvent();
    const entry = (list: "tasks" | "links" | "comments" | "attachments" | "runs" | "events", fields: object) => (data: Broken) => {
      Object.assign(data[list].at(-1) as object, fields);
    };
    let deep: unknown = {};
    for (let level = 0; level < 50_000; level += 1) deep = { deep };
    const huge = "x".repeat(1024 * 1024 + 1);
    const breaks: ((data: Broken) => void)[] = [
      (data) => Object.assign(data, { version: 2 }),
      (data) => Object.assign(data, { tasks: null }),
      (data) => Object.assign(data, { events: [null] }),
      (data) => Object.assign(data, { board: "x" }),
      (data) => Object.assign(data.board, { name: "a\nb" }),
      (data) => data.tasks.push(data.tasks.at(-1) as Broken["tasks"][number]),
      (data) => data.links.push(data.links[0] as Broken["links"][number]),
      (data) => data.runs.push(data.runs[0] as Broken["runs"][number]),
      (data) => data.links.push({ parent: data.links[0]?.child, child: data.links[0]?.parent }),
      (data) => data.links.push({ parent: data.tasks[0]?.id, child: data.tasks[0]?.id }),
      ...[{ id: "t_1" }, { id: "../../x" }, { id: 5 }, { status: "lost" }, { status: null }, { phase: "x" }, { title: "" }].map((f) =>
        entry("tasks", f),
      ),
      ...[{ body: huge }, { body: "\0" }, { priority: 1.5 }, { assignee: "../x" }, { assignee: 5 }, { workspace: "dir:/a/.." }].map((f) =>
        entry("tasks", f),
      ),
      ...[{ scheduledFor: 5 }, { status: "scheduled" }, { deadline: -1 }, { failures: 2 ** 40 }, { maxRetries: 2 ** 40 }].map((f) =>
        entry("tasks", f),
      ),
      ...[{ blocked: { kind: "x", reason: null, by: "me" } }, { blocked: 5 }, { guard: { reason: "", until: 5 } }].map((f) =>
        entry("tasks", f),
      ),
      ...[{ repeat: "sometimes" }, { timeZone: "x" }, { series: 5 }, { successor: "" }, { createdBy: null }, { skills: "s" }].map((f) =>
        entry("tasks", f),
      ),
      ...[{ idempotencyKey: "k" }, { createdAt: Number.NaN }].map((f) => entry("tasks", f)),
      ...[{ parent: "t_00000000" }, { child: null }].map((f) => entry("links", f)),
      ...[{ task: "t_00000000" }, { run: 999_999 }, { author: "" }, { body: huge }, { createdAt: "x" }].map((f) => entry("comments", f)),
      ...[{ task: "t_00000000" }, { size: 2 ** 40 }, { size: -1 }, { name: "a\nb" }].map((f) => entry("attachments", f)),
      ...[{ task: "t_00000000" }, { outcome: "x" }, { outcome: null, endedAt: 5 }, { profile: "" }, { cost: -1 }, { cost: "1" }].map((f) =>
        entry("runs", f),
      ),
      ...[{ tokens: 0.5 }, { metadata: "x" }, { startedAt: null }, { summary: huge }, { phase: "x" }].map((f) => entry("runs", f)),
      ...[{ task: "t_00000000" }, { run: 999_999 }, { kind: "a b" }, { actor: "" }, { payload: null }, { payload: [] }].map((f) =>
        entry("events", f),
      ),
      ...[{ payload: { huge } }, { payload: { deep } }, { at: -1 }].map((f) => entry("events", f)),
    ];
    for (const [index, spoil] of breaks.entries()) {
      const data = structuredClone(good) as unknown as Broken;
      spoil(data);
      const attempt = store.importBoard(data as unknown as ExportedBoard, { ...ME, as: `${board}-bad`, attachmentPath: () => "/x" });
      await expect(attempt, `${index}: ${spoil}`).rejects.toMatchObject({
        code: expect.stringMatching(/^(invalid-input|invalid-name|link-refused|too-large)$/),
      });
    }
    await expect(store.importBoard(null as unknown as ExportedBoard, ME)).rejects.toMatchObject({ code: "invalid-input" });
    await expect(store.importBoard(good, { ...ME, as: "../x" })).rejects.toMatchObject({ code: "invalid-name" });
    await expect(store.getBoard(`${board}-bad`)).rejects.toMatchObject({ code: "board-not-found" });
    expect(await store.lastEvent()).toBe(before);
    await store.archive(good.tasks[1]?.id ?? "", ME);
  },
};
