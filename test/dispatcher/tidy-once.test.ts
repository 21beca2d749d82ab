import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLogger } from "../../src/base/log.ts";
import { openStore } from "../../src/board/store.ts";
import { type TidyOnceOptions, tidyOnce } from "../../src/dispatcher/tidy-once.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { defaultSettings } from "../workers/bench.ts";

async function open(given: Partial<TidyOnceOptions> = {}) {
  const directory = await temporaryDirectory();
  const store = await openStore(":memory:");
  const gone: string[] = [];
  const asked: string[][] = [];
  const options: TidyOnceOptions = {
    store,
    launcher: { look: async () => "gone", end: async () => {} },
    workspaces: {
      async settle({ id }) {
        gone.push(`workspace of ${id}`);
        return { removed: true, kept: null };
      },
    },
    async removeSandboxes({ id }, profiles) {
      gone.push(...profiles.map((profile) => `sandbox of ${id} for ${profile}`));
      return profiles;
    },
    async sandboxes(profiles) {
      asked.push([...profiles]);
      return [];
    },
    leads: async () => true,
    settings: async () => ({ settings: defaultSettings(), warnings: [] }),
    clock: createManualClock(),
    log: silentLogger,
    ...given,
  };
  return {
    store,
    gone,
    asked,
    tidy: (board = "default") => tidyOnce(board, options),
    /** Its workspace is a worktree, as far as its place goes, unless there is none. */
    async done({ board = "default", workspace = true, there = true } = {}) {
      const { task } = await store.createTask({ title: "x", board, assignee: "coder" }, { by: "test" });
      const { token, run } = await store.claim(task.id, { by: "dispatcher/1" });
      const path = join(directory.path, workspace ? join("repository/.worktrees", task.id) : "of-the-user");
      if (there) await mkdir(path, { recursive: true });
      const record = { place: {}, supervisor: {}, mark: "m", sandbox: "task", workspace: path };
      await store.recordWorker(task.id, token, record);
      await store.complete(task.id, {}, { token });
      await store.recordExit(run.id, { code: 0, signal: null, reason: "exited" });
      return task.id;
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

test("K13 K30 a pass asks the profiles of what ended not long ago for their sandboxes, once, and nobody when nothing has", async () => {
  await using bench = await open();
  await bench.tidy();
  expect(bench.asked).toEqual([]);
  for (let each = 0; each < 3; each++) await bench.done({ there: false });
  await bench.tidy();
  expect({ asked: bench.asked, gone: bench.gone }).toEqual({ asked: [["coder"]], gone: [] });
});

test("K30 a pass settles what is there on its own board, worktrees too, and leaves the user's directories", async () => {
  await using bench = await open();
  await bench.store.createBoard("other", { by: "test" });
  const id = await bench.done();
  await bench.done({ workspace: false });
  await bench.done({ board: "other" });
  await bench.tidy();
  expect(bench.gone).toEqual([`workspace of ${id}`]);
});

test("K24 K30 a pass that no longer leads the board removes nothing more", async () => {
  let leads = true;
  await using bench = await open({
    async leads() {
      const did = leads;
      leads = false;
      return did;
    },
  });
  const [first] = [await bench.done(), await bench.done()];
  await bench.tidy();
  expect(bench.gone).toEqual([`workspace of ${first}`]);
});
