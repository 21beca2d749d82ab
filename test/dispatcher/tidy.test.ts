import { expect, test } from "vitest";
import { silentLogger } from "../../src/base/log.ts";
import { openStore } from "../../src/board/store.ts";
import { createTidy } from "../../src/dispatcher/tidy.ts";

async function open(alive: () => boolean, leftBehind: string[] = []) {
  const store = await openStore(":memory:");
  const gone: string[] = [];
  const tidy = createTidy({
    store,
    launcher: { look: async () => (alive() ? "alive" : "gone") },
    workspaces: {
      async settle({ id }) {
        gone.push(`workspace of ${id}`);
        return { removed: true, kept: null };
      },
    },
    removeSandboxes: async ({ id }, profiles) => void gone.push(`sandboxes of ${id} for ${profiles.join()}`),
    leftBehind: async () => leftBehind,
    log: silentLogger,
  });
  const { task } = await store.createTask({ title: "x", assignee: "coder" }, { by: "test" });
  const { token } = await store.claim(task.id, { by: "dispatcher/1" });
  await store.recordWorker(task.id, token, { pid: 1 });
  return { store, tidy, gone, id: task.id, token };
}

test("K30 what a finished task leaves goes when its worker is gone, and once", async () => {
  let alive = true;
  const { store, tidy, gone, id, token } = await open(() => alive);
  await tidy.round();
  await store.complete(id, {}, { token });
  await tidy.round();
  expect(gone).toEqual([]);
  alive = false;
  await tidy.round();
  await tidy.round();
  expect(gone).toEqual([`sandboxes of ${id} for coder`, `workspace of ${id}`]);
  await store[Symbol.asyncDispose]();
});

test("K30 what was finished before goes, too, and what is not finished stays", async () => {
  const left: string[] = [];
  const { store, tidy, gone, id, token } = await open(() => false, left);
  await store.complete(id, {}, { token });
  const { task: other } = await store.createTask({ title: "y" }, { by: "test" });
  left.push(id, other.id);
  await tidy.round();
  expect(gone).toEqual([`sandboxes of ${id} for coder`, `workspace of ${id}`]);
  await store[Symbol.asyncDispose]();
});
