import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { openStore } from "../../src/board/store.ts";
import { soakCount } from "../helpers/soak.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { openFaultBench } from "./bench.ts";
import { describeDatabases } from "./describe-databases.ts";
import { createRandom } from "./random.ts";
import { findLost, startWriters, writeFor } from "./writers.ts";

const PROCESSES = 16;
const WRITE_MS = {
  sqlite: 1000 * soakCount("seconds of 16 writers, SQLite", { check: 8, soak: 60 }),
  postgres: 1000 * soakCount("seconds of 16 writers, PostgreSQL", { check: 5, soak: 20 }),
};
const LIMIT = { timeout: 90_000, interval: 100 };
const ME = { by: "me" };

describeDatabases((database) => {
  test("K25 16 processes that write at once, with random SIGKILLs among them, lose nothing acknowledged and leave it intact", {
    timeout: 240_000,
  }, async () => {
    await using directory = await temporaryDirectory();
    const url = await database();
    const location = url ?? join(directory.path, "board.db");
    const random = createRandom();
    let notes: string[][];
    {
      await using writers = startWriters(location, { count: PROCESSES, directory: directory.path });
      await vi.waitFor(async () => expect((await writers.notes()).filter(([kind]) => kind === "open")).toHaveLength(PROCESSES), LIMIT);
      await writeFor(url === undefined ? WRITE_MS.sqlite : WRITE_MS.postgres, { writers, random });
      await writers.killAll();
      notes = await writers.notes();
    }
    await using store = await openStore(location);
    const seen = `again with FAULTS_SEED=${random.seed}`;
    const kinds = Object.groupBy(notes, ([kind = ""]) => kind);
    console.log(`K25 ${Object.entries(kinds).map(([kind, all = []]) => `${all.length} ${kind}`)}`);
    expect(kinds.untyped ?? []).toEqual([]);
    expect(kinds.completed?.length, seen).toBeGreaterThan(PROCESSES);
    expect(await findLost(store, notes), seen).toEqual([]);
    expect(await store.check(), seen).toEqual([]);
    if (url === undefined) {
      using file = new DatabaseSync(location);
      expect(file.prepare("pragma integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    }
  });
});

test("K25 a board whose part of the file is damaged is reported once and left as it is, and the other boards go on", {
  timeout: 120_000,
}, async () => {
  await using bench = await openFaultBench({ workers: { coder: ["true"] } });
  const { store, database } = bench;
  await store.createTask({ title: "whole", assignee: "coder", board: "default" }, ME);
  await store.createBoard("broken", ME);
  for (let index = 0; index < 300; index += 1) {
    await store.createTask({ title: "lost", body: "x".repeat(500), assignee: "coder", board: "broken" }, ME);
  }
  const damage = await damageTasks(database);
  const dispatcher = bench.startDispatcher();
  const reports = () => dispatcher.lines.filter((line) => line.startsWith("error "));
  await dispatcher.said.until(() => reports().length > 0);
  // Each wakes the dispatcher, which then looks at all boards.
  for (let round = 0; round < 3; round += 1) {
    const { task } = await store.createTask({ title: "more", assignee: "coder", board: "default" }, ME);
    await dispatcher.said.until(() => dispatcher.lines.includes(`spawned ${task.id}`));
  }
  expect(reports()).toEqual([expect.stringMatching(/^error dispatching on board broken failed: .*damaged/)]);
  await dispatcher.end("SIGTERM");
  expect(await damage.unchanged()).toBe(true);
});

test("K25 a damaged file is refused by a dispatcher and left untouched, while that of another file goes on", {
  timeout: 120_000,
}, async () => {
  await using whole = await openFaultBench({ workers: { coder: ["true"] } });
  await using broken = await openFaultBench({ workers: { coder: ["true"] } });
  const going = whole.startDispatcher();
  await going.said.until(() => going.lines.includes("pass default leads"));
  const path = join(broken.home, "other", "broken.db");
  await mkdir(join(broken.home, "other"));
  await broken.store.backup(path);
  const bytes = await readFile(path);
  bytes.fill(0x5a, 0, 4096);
  await writeFile(path, bytes);
  await expect(openStore(path)).rejects.toMatchObject({ code: "board-damaged" });
  expect((await readFile(path)).equals(bytes)).toBe(true);
  const { task } = await whole.store.createTask({ title: "more", assignee: "coder" }, ME);
  await going.said.until(() => going.lines.includes(`spawned ${task.id}`));
});

/** Overwrites the pages of the table of tasks but the first and the last, where new ones go. */
async function damageTasks(path: string): Promise<{ unchanged(): Promise<boolean> }> {
  let pages: number[];
  let size: number;
  {
    using file = new DatabaseSync(path);
    file.exec("pragma wal_checkpoint(truncate)");
    size = Number(Object.values(file.prepare("pragma page_size").get() ?? {})[0]);
    const leaves = file.prepare("select pageno from dbstat where name = 'tasks' and pagetype = 'leaf' order by path").all();
    pages = leaves.slice(5, -5).map(({ pageno }) => Number(pageno));
  }
  const rubbish = Buffer.alloc(size, 0x5a);
  await using handle = await open(path, "r+");
  for (const page of pages) await handle.write(rubbish, 0, size, (page - 1) * size);
  return {
    async unchanged() {
      const now = await readFile(path);
      return pages.length > 10 && pages.every((page) => now.subarray((page - 1) * size, page * size).equals(rubbish));
    },
  };
}
