import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../../src/board/database.ts";
import { lockMigrations } from "../../src/board/locks.ts";
import { migrate, NEWEST_VERSION } from "../../src/board/migrations.ts";
import { openPostgres } from "../../src/board/postgres.ts";
import { openSqlite } from "../../src/board/sqlite.ts";
import { openStore } from "../../src/board/store.ts";
import { POSTGRES_LIMIT_MS, type TestPostgres, testPostgres } from "../helpers/postgres.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forEachTest } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

const ME = { by: "me" };
const scratch = forEachTest(temporaryDirectory);

const CONTENT = [
  "insert into boards (slug, name, description, icon, created_at) values ('default', 'Default', '', '', 1)",
  ...["'t_00000001', 'done', null", "'t_00000002', 'blocked', 'gave_up'", "'t_00000003', 'running', null"].map(
    (
      values,
    ) => `insert into tasks (id, status, block_kind, board, title, body, phase, priority, workspace, created_by, created_at, failures, violations, blocked_by)
      values (${values}, 'default', 'old', 'text', 'work', 0, 'scratch', 'me', 1, 0, 0, 'd')`,
  ),
  "insert into links values ('t_00000001', 't_00000003')",
  "insert into runs (task, profile, phase, claimed_by, started_at) values ('t_00000003', 'p', 'work', 'd', 1)",
  "insert into comments (task, author, body, created_at) values ('t_00000001', 'me', 'kept', 1)",
  "insert into events (board, task, kind, actor, payload, created_at) values ('default', 't_00000001', 'created', 'me', '{}', 1)",
];

async function bringUpToDate(old: Database, location: string): Promise<void> {
  await old.write(async (session) => {
    await lockMigrations(session);
    await migrate(session, location, { to: 1 });
  });
  for (const sql of CONTENT) await old.execute(sql);
  await old[Symbol.asyncDispose]();

  await using store = await openStore(location);
  expect(NEWEST_VERSION).toBeGreaterThan(1);
  expect(
    (await store.listTasks()).map(({ id, title, body, status, repeat, series, overdueAt }) => ({
      id,
      title,
      body,
      status,
      repeat,
      series,
      overdueAt,
    })),
  ).toEqual(
    [
      ["t_00000001", "done"],
      ["t_00000002", "blocked"],
      ["t_00000003", "running"],
    ].map(([id, status]) => ({ id, status, title: "old", body: "text", repeat: null, series: null, overdueAt: null })),
  );
  expect(await store.comments("t_00000001")).toMatchObject([{ body: "kept" }]);
  expect(await store.events({ task: "t_00000001" })).toHaveLength(1);
  expect(await store.runs({ open: true })).toMatchObject([{ task: "t_00000003" }]);
  expect((await store.children("t_00000001")).map(({ id }) => id)).toEqual(["t_00000003"]);
  expect((await store.getTask("t_00000002")).blocked).toMatchObject({ kind: "gave_up" });
  expect(await store.stats("default")).toMatchObject({ counts: { done: 1 }, runs: { open: 1 } });
  expect((await store.unblock("t_00000002", ME)).status).toBe("ready");
  await store.editTask("t_00000002", { deadline: 5 }, ME);
  expect(await store.check()).toEqual([]);

  // The newest run goes, and its id with it.
  const { run, token } = await store.claim("t_00000002", ME);
  await store.complete("t_00000002", {}, { token });
  await store.archive("t_00000002", ME);
  await store.removeTask("t_00000002", ME);
  const { task } = await store.createTask({ title: "new" }, ME);
  expect((await store.claim(task.id, ME)).run.id).toBeGreaterThan(run.id);
}

test("K25 a file of version 1 is brought up to date with all it holds", async () => {
  const path = join(scratch.path, "board.db");
  await bringUpToDate(openSqlite(path, 1000), path);
});

describeIf(["postgres"], "PostgreSQL", () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await testPostgres();
  }, POSTGRES_LIMIT_MS);
  afterAll(() => server?.[Symbol.asyncDispose]());

  test("K25 a database of version 1 is brought up to date with all it holds", async () => {
    const url = await server.createDatabase();
    await bringUpToDate(await openPostgres(url), url);
  });
});
