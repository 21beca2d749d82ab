import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { POSTGRES_LIMIT_MS, type TestPostgres, testPostgres } from "../../test/helpers/postgres.ts";
import { describeIf } from "../../test/helpers/requirements.ts";
import { createKanbanApp, type TestAppOptions } from "../../test/helpers/test-app.ts";
import { followEvents } from "./follow-events.ts";

/** What another process does is seen, also what concerns no dispatcher, and nothing twice. */
async function followsAnother(options: TestAppOptions): Promise<void> {
  await using given = await createKanbanApp(options);
  const { task } = await given.kanban.store.createTask({ title: "x" }, { by: "me" });
  const other = await (await given.open()).kanban();
  const abort = new AbortController();
  const seen: string[] = [];
  for await (const { kind } of followEvents(given.app, { task: task.id, since: 0, signal: abort.signal })) {
    seen.push(kind);
    if (kind === "created") await other.store.comment(task.id, "hm", { by: "other" });
    if (kind === "commented") await other.store.complete(task.id, {}, { by: "other" });
    if (kind === "completed") abort.abort();
  }
  expect(seen).toEqual(["created", "commented", "completed"]);
}

test("K23 K32 events of a file are followed as they happen", () => followsAnother({}));

test("K32 nobody waits on for events when the looking was given up before or while waiting", async () => {
  await using given = await createKanbanApp();
  const { app } = given;
  const since = await given.kanban.store.lastEvent();
  const none = followEvents(app, { since, signal: AbortSignal.abort() });
  expect(await none.next()).toMatchObject({ done: true });
  const abort = new AbortController();
  const looked = vi.spyOn(given.kanban.store, "events");
  const waiting = followEvents(app, { since, signal: abort.signal }).next();
  await vi.waitFor(() => expect(looked.mock.settledResults).toMatchObject([{ type: "fulfilled" }]), { timeout: 60_000 });
  abort.abort();
  expect(await waiting).toMatchObject({ done: true });
});

describeIf(["postgres"], "PostgreSQL", () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await testPostgres();
  }, POSTGRES_LIMIT_MS);
  afterAll(() => server?.[Symbol.asyncDispose]());

  test("K23 K32 events are followed, also those of which the database does not tell", async () => {
    await followsAnother({ config: { "kanban.database": await server.createDatabase() } });
  });
});
