import { expect, test, vi } from "vitest";
import { systemClock } from "../base/clock.ts";
import type { Database } from "./database.ts";
import { openSqlite } from "./sqlite.ts";
import { storeOver } from "./store-operations.ts";

const seen = vi.hoisted(() => ({ inTransaction: false, loads: [] as boolean[] }));

vi.mock("croner", async (original) => {
  seen.loads.push(seen.inTransaction);
  return await original();
});

test("K10 cron is loaded for a task that repeats by the clock, and never while a transaction waits for it", async () => {
  const database = openSqlite(":memory:", 1000);
  const watched: Database = {
    ...database,
    write: (work) =>
      database.write(async (session) => {
        seen.inTransaction = true;
        try {
          return await work(session);
        } finally {
          seen.inTransaction = false;
        }
      }),
  };
  await using store = await storeOver({ database: watched, clock: systemClock });
  const me = { by: "me" };
  const [plain, timed] = [
    (await store.createTask({ title: "plain", repeat: "every 1h" }, me)).task,
    (await store.createTask({ title: "timed", repeat: "every 1h" }, me)).task,
  ];
  // As another process would have left it, which has cron loaded.
  await database.execute(`update tasks set repeat = '0 9 * * *' where id = '${timed.id}'`);
  await store.complete(plain.id, {}, me);
  expect(seen.loads).toEqual([]);
  const { successor } = await store.complete(timed.id, {}, me);
  expect(seen.loads).toEqual([false]);
  expect(new Date((await store.getTask(successor ?? "")).scheduledFor ?? 0).getMinutes()).toBe(0);
});
