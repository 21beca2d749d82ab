import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { findFaults } from "../../src/board/faults.ts";
import { openSqlite } from "../../src/board/sqlite.ts";
import { openStore } from "../../src/board/store.ts";
import { forEachTest } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

const ME = { by: "me" };
const scratch = forEachTest(temporaryDirectory);
const file = (name = "board.db") => join(scratch.path, name);

describe("a board in a file", () => {
  test("is there again when it is opened again", async () => {
    const { id } = await made("kept");
    await using store = await openStore(file());
    expect(await store.getTask(id)).toMatchObject({ title: "kept", status: "ready" });
    expect(await store.listBoards()).toMatchObject([{ slug: "default" }]);
  });

  test("that a newer Holdfast has made is refused, and stays as it is", async () => {
    await made();
    change("update meta set value = 999");
    await expect(openStore(file())).rejects.toMatchObject({ code: "board-too-new", facts: { version: 999 } });
    expect(new DatabaseSync(file()).prepare("select value from meta").get()).toMatchObject({ value: 999 });
  });

  test("K25 that is damaged, or no board at all, is reported and left untouched", async () => {
    for (const content of [
      Buffer.from("not a database, ".repeat(1000)),
      Buffer.concat([readFileSync(await madeFile()), Buffer.alloc(10)]),
    ]) {
      const broken = Buffer.from(content);
      broken.fill(0x5a, 0, 4096);
      writeFileSync(file("broken.db"), broken);
      await expect(openStore(file("broken.db"))).rejects.toMatchObject({ code: "board-damaged", facts: { location: file("broken.db") } });
      expect(readFileSync(file("broken.db")).equals(broken)).toBe(true);
    }
  });

  test("K25 is for its owner alone, with all that is beside it and its copies", async () => {
    await using store = await openStore(file());
    await store.createTask({ title: "x" }, ME);
    await store.backup(file("copy.db"));
    const names = readdirSync(scratch.path).sort();
    expect(names).toEqual(["board.db", "board.db-shm", "board.db-wal", "copy.db"]);
    for (const name of names) expect([name, statSync(file(name)).mode & 0o777]).toEqual([name, 0o600]);
    await expect(store.backup(file("nowhere/copy.db"))).rejects.toMatchObject({ code: "board-unavailable" });
  });

  test("that cannot be opened says so", async () => {
    mkdirSync(file("directory"));
    await expect(openStore(file("directory"))).rejects.toMatchObject({ code: "board-unavailable", retryable: true });
    await expect(openStore(file("nowhere/board.db"))).rejects.toMatchObject({ code: "board-unavailable" });
  });

  test("K25 is copied whole while it is in use", async () => {
    const { id } = await made("kept");
    await using store = await openStore(file());
    const claim = await store.claim(id, { by: "d" });
    const copy = file("it's a copy.db");
    await store.backup(copy);
    await expect(store.backup(copy)).rejects.toMatchObject({ code: "board-unavailable" });
    await store.complete(id, {}, { token: claim.token });
    await using restored = await openStore(copy);
    expect(await restored.getTask(id)).toMatchObject({ status: "running" });
    expect(await restored.check()).toEqual([]);
    expect((await restored.complete(id, {}, { token: claim.token })).status).toBe("done");
  });

  test("K25 in which something does not fit together is told so", async () => {
    const { id } = await made();
    change("update tasks set status = 'running'");
    await using store = await openStore(file());
    expect(await store.check()).toEqual([`${id} is running without an open run`]);
    change("update tasks set status = 'todo'");
    expect(await store.check()).toEqual([`${id} waits though its parents are finished`]);
    change("pragma foreign_keys = off; insert into links values ('t_1', 't_2')");
    expect(await store.check()).toEqual([expect.stringContaining("links"), expect.stringContaining("links")]);
  });

  test("K25 in which tasks do not fit together is repaired by moves that leave events", async () => {
    const [lost, open, free, waiting] = [(await made()).id, (await made()).id, (await made()).id, (await made()).id];
    change(`update tasks set status = 'running' where id = '${lost}'`);
    change(`insert into runs (task, profile, phase, claimed_by, started_at) values ('${open}', 'p', 'work', 'd', 1)`);
    change(`insert into links values ('${open}', '${free}')`);
    change(`update tasks set status = 'todo' where id = '${waiting}'`);
    await using store = await openStore(file());
    const wrong = await store.check();
    expect(wrong).toHaveLength(4);
    expect((await store.repair()).toSorted()).toEqual(wrong.toSorted());
    expect(await store.check()).toEqual([]);
    expect(await store.repair()).toEqual([]);
    const statuses = await Promise.all([lost, open, free, waiting].map(async (id) => (await store.getTask(id)).status));
    expect(statuses).toEqual(["ready", "ready", "todo", "ready"]);
    expect((await store.events()).slice(4).map(({ task, kind }) => [task, kind])).toEqual([
      [lost, "reclaimed"],
      [free, "held"],
      [waiting, "promoted"],
    ]);
  });

  test("K25 in which some tasks do not fit together has these mended alone, without a look at the whole of it", async () => {
    const [lost, open, other] = [(await made()).id, (await made()).id, (await made()).id];
    change(`update tasks set status = 'running' where id in ('${lost}', '${other}')`);
    change(`insert into runs (task, profile, phase, claimed_by, started_at) values ('${open}', 'p', 'work', 'd', 1)`);
    change(`update tasks set status = 'todo' where id = '${open}'`);
    change("pragma foreign_keys = off; insert into links values ('t_1', 't_2')");
    await using store = await openStore(file());
    await expect(store.repair()).rejects.toMatchObject({ code: "board-damaged" });
    expect((await store.mendTasks([lost, open, "t_00000000"])).toSorted()).toEqual(
      [
        `${lost} is running without an open run`,
        `${open} has an open run but is not running`,
        `${open} waits though its parents are finished`,
      ].toSorted(),
    );
    const statuses = await Promise.all([lost, open, other].map(async (id) => (await store.getTask(id)).status));
    expect(statuses).toEqual(["ready", "ready", "running"]);
    expect(await store.mendTasks([lost, open])).toEqual([]);
  });

  test("K25 is looked through for tasks that do not fit together by its indexes, however many are finished", async () => {
    await made();
    await using database = openSqlite(file(), 1000);
    const steps: unknown[] = [];
    await database.read((session) =>
      findFaults({
        ...session,
        async query(query) {
          steps.push(...(await session.query({ ...query, sql: `explain query plan ${query.sql}` })));
          return [];
        },
      }),
    );
    const details = (steps as { detail: string }[]).map(({ detail }) => detail);
    expect(details.filter((detail) => detail.startsWith("SEARCH tasks"))).toHaveLength(4);
    expect(details.filter((detail) => detail.startsWith("SCAN tasks"))).toEqual([]);
  });

  test("K9 lets others write while many old events are removed", async () => {
    await using store = await openStore(file());
    for (let count = 0; count < 3; count += 1) await store.complete((await made()).id, {}, ME);
    await made();
    const order: string[] = [];
    const collecting = store.collectGarbage({ eventsBefore: 4e15, chunk: 1 }).then(({ events }) => order.push(`${events} removed`));
    const writing = store.createTask({ title: "a" }, ME).then(() => order.push("written"));
    await Promise.all([collecting, writing]);
    expect(order).toEqual(["written", "6 removed"]);
  });

  test("K25 whose file is damaged in the middle is told so, and not repaired", async () => {
    await made();
    {
      await using store = await openStore(file());
      for (let index = 0; index < 200; index += 1) await store.createTask({ title: "a", body: "x".repeat(500) }, ME);
    }
    change("pragma wal_checkpoint(truncate)");
    const pages = readFileSync(file());
    pages.fill(0x5a, pages.length - 20 * 2048, pages.length - 4 * 2048);
    writeFileSync(file(), pages);
    await using store = await openStore(file());
    expect((await store.check()).length).toBeGreaterThan(0);
    await expect(store.repair()).rejects.toMatchObject({ code: "board-damaged" });
  });

  test("K6 K7 K9 keeps its own rules: one open run, one task of a key, known statuses, real parents", async () => {
    const { id } = await made();
    const run = `insert into runs (task, profile, phase, claimed_by, started_at) values ('${id}', 'p', 'work', 'd', 1)`;
    change(run);
    expect(() => change(run)).toThrow(/UNIQUE constraint failed/);
    expect(() => change(`update tasks set status = 'lost'`)).toThrow(/CHECK constraint failed/);
    expect(() => change(`insert into links values ('${id}', 't_00000000')`)).toThrow(/FOREIGN KEY constraint failed/);
    expect(() => change(`insert into links values ('${id}', '${id}')`)).toThrow(/CHECK constraint failed/);
    await using store = await openStore(file());
    await store.createTask({ title: "b", idempotencyKey: "k" }, ME);
    expect(() => change(`update tasks set idempotency_key = 'k'`)).toThrow(/UNIQUE constraint failed/);
  });

  test("that is opened by several at once is made once", async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(file())));
    await Promise.all(stores.map((store, index) => store.createTask({ title: `${index}` }, ME)));
    expect(await stores[0]?.listTasks()).toHaveLength(4);
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  });

  test("that is held by another process for too long is locked, and works again after", async () => {
    await using store = await openStore(file(), { busyLimitMs: 20 });
    const other = new DatabaseSync(file());
    other.exec("begin immediate");
    await expect(store.createTask({ title: "a" }, ME)).rejects.toMatchObject({ code: "locked", retryable: true });
    other.exec("rollback");
    other.close();
    expect((await store.createTask({ title: "a" }, ME)).created).toBe(true);
  });
});

test("a board in PostgreSQL that does not answer says so, without the password", async () => {
  const url = `postgres://me:secret@/x?host=${encodeURIComponent(scratch.path)}`;
  await expect(openStore(url)).rejects.toMatchObject({ code: "board-unavailable", message: expect.not.stringContaining("secret") });
});

async function made(title = "a"): Promise<{ id: string }> {
  await using store = await openStore(file());
  return (await store.createTask({ title }, ME)).task;
}

async function madeFile(): Promise<string> {
  await made();
  return file();
}

function change(sql: string): void {
  const database = new DatabaseSync(file());
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}
