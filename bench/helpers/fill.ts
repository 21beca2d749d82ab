/** @module Fills a board with finished tasks, far quicker than by finishing them: copies of one that really went through it. */
import { DatabaseSync } from "node:sqlite";
import type { Store } from "../../src/board/store.ts";
import { BOARD, PROFILE } from "./kanban-home.ts";

const BY = { by: "bench" };

/** Each with its run and its events, and an id as random as a real one. */
export async function fillFinished(store: Store, path: string, count: number): Promise<void> {
  if (count <= 0) return;
  const { task } = await store.createTask({ title: "finished long ago", body: "what was to be done", board: BOARD, assignee: PROFILE }, BY);
  const { token } = await store.claim(task.id, BY);
  await store.complete(task.id, { summary: "done" }, { token });
  const database = new DatabaseSync(path, { timeout: 60_000 });
  try {
    database.exec("begin immediate; create temp table copies (n integer primary key, id text)");
    // An odd factor gives each number another one of 32 bits, so no two are alike.
    database
      .prepare(
        `insert into copies with recursive counter (n) as (select 1 union all select n + 1 from counter where n < ?)
         select n, printf('t_%08x', ((n + ?) * 2654435761) & 4294967295) from counter`,
      )
      .run(count - 1, task.seq);
    database.exec("delete from copies where id in (select id from tasks)");
    copyRows(database, "tasks", { key: "seq", where: "id", task: task.id, values: { id: "copies.id" } });
    const lastRun = "(select max(id) from runs where task = :task) + copies.n";
    copyRows(database, "runs", { key: "", where: "task", task: task.id, values: { id: lastRun, task: "copies.id" } });
    const run = `case when original.run is null then null else ${lastRun} end`;
    copyRows(database, "events", { key: "id", where: "task", task: task.id, values: { task: "copies.id", run } });
    database.exec("commit; drop table copies");
  } finally {
    database.close();
  }
}

interface Copying {
  /** The column that the database fills. */
  readonly key: string;
  /** The column that tells which rows are copied. */
  readonly where: string;
  readonly task: string;
  /** What is different in a copy. */
  readonly values: Readonly<Record<string, string>>;
}

function copyRows(database: DatabaseSync, table: string, { key, where, task, values }: Copying): void {
  const columns = database
    .prepare(`select name from pragma_table_info('${table}')`)
    .all()
    .map(({ name }) => String(name))
    .filter((name) => name !== key);
  const selected = columns.map((name) => values[name] ?? `original."${name}"`);
  const names = columns.map((name) => `"${name}"`);
  const order = table === "tasks" ? "copies.n" : "copies.n, original.id";
  database
    .prepare(
      `insert into ${table} (${names}) select ${selected} from copies cross join ${table} as original
       where original."${where}" = :task order by ${order}`,
    )
    .run({ task });
}
