/** @module What the board costs on a file of SQLite, and how that grows with the number of its tasks. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, type Store } from "../src/board/store.ts";
import type { Benchmark } from "./measure.ts";

const SIZES = [1000, 10_000, 100_000];
const SAMPLE = 3000;
const WAITING = 1000;
const BY = { by: "bench" };

export const benchmark: Benchmark = {
  summary: "tasks per second in one process on a file of SQLite, against transactions of two plain inserts",
  async run() {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
    try {
      await using store = await openStore(join(directory, "board.db"));
      const notes = ["aim: create at least 10,000/s, claim + complete at least 5,000/s, on a quiet machine"];
      await warmUp();
      let count = 0;
      for (const size of SIZES) {
        await create(store, size - count);
        notes.push(await describe(store, { count: size, plain: join(directory, `plain-${size}.db`) }));
        count = size + SAMPLE;
      }
      notes.push(await describePass(store, join(directory, "board.db")));
      return { timings: [], notes };
    } finally {
      await rm(directory, { recursive: true });
    }
  },
};

/** The first thousands of anything are slow in Node, whatever the board. */
async function warmUp(): Promise<void> {
  await using store = await openStore(":memory:");
  await work(store, await create(store, SAMPLE));
}

async function describe(store: Store, { count, plain }: { count: number; plain: string }): Promise<string> {
  const baseline = await rate(() => plainInserts(plain));
  let made: string[] = [];
  const created = await rate(async () => {
    made = await create(store, SAMPLE);
  });
  const worked = await rate(() => work(store, made));
  const list = await time(() => store.listTasks({ board: "default", status: "ready", limit: 100 }));
  const open = await time(() => store.runs({ board: "default", open: true }));
  const counted = await time(() => store.counts("default"));
  return [
    `${count.toLocaleString("en")} tasks: plain ${baseline}, create ${created}, claim + complete ${worked}`,
    `the first 100 ready in ${list}, open runs in ${open}, counts in ${counted}`,
  ].join(", ");
}

/** What a dispatcher reads each time, on a board of which nearly all is finished. */
async function describePass(store: Store, path: string): Promise<string> {
  const database = new DatabaseSync(path);
  database.exec("update tasks set status = 'done' where status = 'ready'");
  database.close();
  const ids = await create(store, WAITING);
  for (const id of ids.slice(0, WAITING / 10)) await store.claim(id, BY);
  const finished = (await store.counts("default")).done.toLocaleString("en");
  const [waiting, open] = [await middle(() => store.waiting("default")), await middle(() => store.openRuns("default"))];
  return `${finished} finished: the ${WAITING - WAITING / 10} that wait in ${waiting}, the ${WAITING / 10} open runs in ${open}`;
}

async function create(store: Store, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { task } = await store.createTask(
      { title: `task ${index}`, body: "what is to be done", assignee: "coder", priority: index % 3 },
      BY,
    );
    ids.push(task.id);
  }
  return ids;
}

async function work(store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const { token } = await store.claim(id, { by: "bench" });
    await store.complete(id, { summary: "done" }, { token });
  }
}

/** The least that creating a task could cost: a row and an event, in a transaction. */
function plainInserts(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(
    "pragma journal_mode = wal; pragma synchronous = normal; create table a (id text primary key, b text); create table c (d text)",
  );
  const statements = ["begin immediate", "insert into a values (?, ?)", "insert into c values (?)", "commit"].map((sql) =>
    database.prepare(sql),
  );
  for (let index = 0; index < SAMPLE; index += 1) {
    const id = `t_${index}`;
    for (const [position, values] of [[], [id, "x"], [id], []].entries()) statements[position]?.run(...values);
  }
  database.close();
}

async function rate(action: () => unknown): Promise<string> {
  const startedAt = performance.now();
  await action();
  return `${Math.round(SAMPLE / ((performance.now() - startedAt) / 1000)).toLocaleString("en")}/s`;
}

async function time(action: () => unknown): Promise<string> {
  const startedAt = performance.now();
  await action();
  return `${(performance.now() - startedAt).toFixed(1)} ms`;
}

async function middle(action: () => unknown): Promise<string> {
  const times: number[] = [];
  for (let round = 0; round < 21; round += 1) {
    const startedAt = performance.now();
    await action();
    times.push(performance.now() - startedAt);
  }
  return `${times.toSorted((a, b) => a - b)[10]?.toFixed(1)} ms`;
}
