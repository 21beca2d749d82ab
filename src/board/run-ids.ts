/**
 * @module The ids of runs, which logs, events and the variables of workers name, and which therefore never come twice. PostgreSQL sees to it
 * itself. SQLite gives the next one after the largest there is, so whoever removes runs leaves the largest one behind.
 */
import { sql } from "kysely";
import { type Session, statement } from "./database.ts";

const KEY = "last_run";

/** For SQLite. It costs a look at two small trees; numbering by SQLite itself would write one more page for each run. */
export const NEXT_RUN_ID = sql<number>`max(
  coalesce((select max(id) from runs), 0),
  coalesce((select value from meta where key = ${sql.lit(KEY)}), 0)
) + 1`;

const KEEP_LAST = statement<object>((build) =>
  build
    .insertInto("meta")
    .values({ key: sql.lit(KEY), value: sql<number>`(select coalesce(max(id), 0) from runs)` })
    .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: sql<number>`max(value, excluded.value)` })),
);

/** Comes before runs are removed, in the same transaction. */
export async function keepLastRunId(session: Session): Promise<void> {
  if (session.dialect === "sqlite") await session.run(KEEP_LAST, {});
}
