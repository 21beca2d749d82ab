import { expect, test } from "vitest";
import type { Claim } from "../../src/board/claims.ts";
import { openStore, type Store } from "../../src/board/store.ts";
import type { Task } from "../../src/board/task.ts";
import { createBell } from "../helpers/bell.ts";
import { cutPostgres } from "../helpers/cut-postgres.ts";
import { POSTGRES_LIMIT_MS, testPostgres } from "../helpers/postgres.ts";
import { describeIf } from "../helpers/requirements.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

function failed(): never {
  throw new Error("there is no such claim");
}

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

  test("K17 K29 the last words of a run outlast a restart of the server, each once, and those of a person are refused at once", {
    timeout: POSTGRES_LIMIT_MS,
  }, async () => {
    await using server = await testPostgres();
    const url = await server.createDatabase();
    await using board = await openStore(url);
    const waits = createBell();
    const patience = { limitMs: 60_000, onWait: waits.ring };
    const reviewed = await board.createTask({ title: "reviewed", assignee: "coder" }, { by: "me" });
    await board.requestReview(reviewed.task.id, {}, { token: (await board.claim(reviewed.task.id, { by: "d" })).token });
    const tasks = await Promise.all(["one", "two", "three"].map((title) => board.createTask({ title, assignee: "coder" }, { by: "me" })));
    const claims: Claim[] = [];
    for (const { task } of [...tasks, reviewed]) claims.push(await board.claim(task.id, { by: "d" }));
    const words: ((store: Store, id: string, token: string) => Promise<Task>)[] = [
      (store, id, token) => store.complete(id, { summary: "done" }, { token }),
      (store, id, token) => store.block(id, { reason: "why" }, { token }),
      (store, id, token) => store.requestReview(id, { summary: "see" }, { token }),
      (store, id, token) => store.requestChanges(id, { reason: "tests" }, { token }),
    ];
    // Two of them have a store already, and two cannot even open one.
    const [first, second] = [await openStore(url, { patience }), await openStore(url, { patience })];
    await server.stop();
    const stores = [Promise.resolve(first), Promise.resolve(second), openStore(url, { patience }), openStore(url, { patience })];
    const said = stores.map(async (opening, index) => {
      await using store = await opening;
      const { task, token } = claims[index] ?? failed();
      return await (words[index] ?? failed())(store, task.id, token);
    });
    await waits.until(() => waits.rings === 4);
    await expect(openStore(url)).rejects.toMatchObject({ code: "board-unavailable" });
    await server.start();
    expect((await Promise.all(said)).map(({ status }) => status)).toEqual(["done", "blocked", "review", "ready"]);
    for (const { task, run } of claims)
      expect((await board.runs({ task: task.id })).at(-1)).toMatchObject({ id: run.id, endedAt: expect.any(Number) });
  });

  test("K17 K29 a last word whose answer was lost counts once", { timeout: POSTGRES_LIMIT_MS }, async () => {
    await using server = await testPostgres();
    const url = await server.createDatabase();
    await using board = await openStore(url);
    await using place = await temporaryDirectory();
    await using way = await cutPostgres(url, place.path);
    const { task } = await board.createTask({ title: "work", assignee: "coder" }, { by: "me" });
    const { token, run } = await board.claim(task.id, { by: "d" });
    await using store = await openStore(way.url, { patience: { limitMs: 60_000, onWait: () => {} } });
    const file = { name: "a", path: "/srv/a", contentType: "text/plain", size: 1 };
    way.swallowCommit();
    await store.addAttachment(task.id, file, { token });
    way.swallowCommit();
    expect(await store.complete(task.id, { summary: "done" }, { token })).toMatchObject({ status: "done" });
    expect(way.swallowed.rings).toBe(2);
    expect((await board.events({ task: task.id })).map(({ kind }) => kind)).toEqual(["created", "claimed", "attached", "completed"]);
    expect(await board.runs({ task: task.id })).toMatchObject([{ id: run.id, outcome: "completed" }]);
    expect(await board.attachments(task.id)).toHaveLength(1);
    // What does not know itself again is never done a second time.
    way.swallowCommit();
    await expect(store.comment(task.id, "hello", { by: "me" })).rejects.toMatchObject({ code: "board-unavailable" });
    expect(await board.comments(task.id)).toHaveLength(1);
  });
});
