import { expect, test } from "vitest";
import { createLogger } from "../../src/base/log.ts";
import { openStore } from "../../src/board/store.ts";
import { createTidy } from "../../src/dispatcher/tidy.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { defaultSettings } from "../workers/bench.ts";

async function open(alive: () => boolean, leftBehind: string[] = []) {
  const ended: number[] = [];
  const said: string[] = [];
  const clock = createManualClock();
  const trouble = { is: false };
  const store = await openStore(":memory:");
  const gone: string[] = [];
  const tidy = createTidy({
    store,
    launcher: { look: async () => (alive() ? "alive" : "gone"), end: async ({ id }) => void ended.push(id) },
    workspaces: {
      async settle({ id }) {
        if (trouble.is) throw new Error("no such luck");
        gone.push(`workspace of ${id}`);
        return { removed: true, kept: null };
      },
    },
    async removeSandboxes({ id }, profiles) {
      gone.push(`sandboxes of ${id} for ${profiles.join()}`);
      return profiles;
    },
    leftBehind: async () => leftBehind,
    settings: async () => ({ settings: defaultSettings(), warnings: [] }),
    clock,
    log: createLogger({ clock, level: "info", sink: ({ message }) => said.push(message) }),
  });
  const { task } = await store.createTask({ title: "x", assignee: "coder" }, { by: "test" });
  const { token, run } = await store.claim(task.id, { by: "dispatcher/1" });
  await store.recordWorker(task.id, token, { pid: 1 });
  return { store, tidy, gone, ended, said, clock, trouble, id: task.id, run: run.id, token };
}

test("K18 a worker that outlives its last word and its supervisor is ended, once, also when a dispatcher before has seen that word", async () => {
  for (const before of [true, false]) {
    let alive = true;
    const { store, tidy, gone, ended, id, run, token } = await open(() => alive);
    if (!before) await tidy.round();
    await store.block(id, { reason: "a question" }, { token });
    await tidy.round();
    expect(ended).toEqual([]);
    alive = false;
    await tidy.round();
    await tidy.round();
    expect({ ended, gone }).toEqual({ ended: [run], gone: [] });
    await store[Symbol.asyncDispose]();
  }
});

test("K18 one whose supervisor has told its end is left alone", async () => {
  const { store, tidy, ended, id, run, token } = await open(() => false);
  await store.block(id, { reason: "a question" }, { token });
  await store.recordExit(run, { code: 0, signal: null, reason: "exited" });
  await tidy.round();
  expect(ended).toEqual([]);
  await store[Symbol.asyncDispose]();
});

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

test("K30 what could not go is tried again a minute later, and told of once", async () => {
  const { store, tidy, gone, said, clock, trouble, id, token } = await open(() => false);
  trouble.is = true;
  await store.complete(id, {}, { token });
  await tidy.round();
  trouble.is = false;
  await tidy.round();
  expect(gone).not.toContain(`workspace of ${id}`);
  trouble.is = true;
  await clock.advance(60_000);
  await tidy.round();
  trouble.is = false;
  await clock.advance(60_000);
  await tidy.round();
  expect(gone.filter((each) => each.startsWith("workspace"))).toEqual([`workspace of ${id}`]);
  expect(said).toEqual([
    `what ${id} left could not be removed, and will be tried again: no such luck`,
    `what ${id} left is removed at last`,
  ]);
  await store[Symbol.asyncDispose]();
});
