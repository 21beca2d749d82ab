import { expect, test } from "vitest";
import { openStore } from "../../src/board/store.ts";
import { createBell } from "../helpers/bell.ts";
import { POSTGRES_LIMIT_MS, testPostgres } from "../helpers/postgres.ts";
import { describeIf } from "../helpers/requirements.ts";

describeIf("postgres", "a server that comes back", () => {
  test("K23 whoever watches a board in PostgreSQL is woken once its server is back, and from then on as before", {
    timeout: POSTGRES_LIMIT_MS,
  }, async () => {
    await using server = await testPostgres();
    const url = await server.createDatabase();
    await using store = await openStore(url);
    const [bell, errors] = [createBell(), createBell()];
    await using _watch = await store.watch(bell.ring, { onError: errors.ring });
    await server.restart();
    await errors.until(() => errors.rings > 0);
    // Something may have been missed.
    await bell.until(() => bell.rings > 0);
    const before = bell.rings;
    await using other = await openStore(url);
    await other.createTask({ title: "after" }, { by: "me" });
    await bell.until(() => bell.rings > before);
    expect(errors.rings).toBe(1);
  });
});
