/**
 * @module Rows that must stand still until the transaction ends, in databases where others write at the same time. Parents come before
 * children and ids in order, so that two transactions seldom wait for each other; when they do, the database ends one, which begins anew.
 */
import { sql } from "kysely";
import { type Session, statement } from "./database.ts";

const MIGRATION_LOCK = 1_650_811_002;

const LOCK_TASK = statement<{ id: string }>((build, hole) =>
  build.selectFrom("tasks").select("id").where("id", "=", hole("id")).forNoKeyUpdate(),
);

const LOCK_CHILDREN = statement<{ parent: string }>((build, hole) =>
  build
    .selectFrom("tasks")
    .innerJoin("links", "links.child", "tasks.id")
    .select("tasks.id")
    .where("links.parent", "=", hole("parent"))
    .orderBy("tasks.id")
    .forNoKeyUpdate("tasks"),
);

const LOCK_BOARD = statement<{ board: string }>((build, hole) =>
  build.selectFrom("boards").select("slug").where("slug", "=", hole("board")).forNoKeyUpdate(),
);

/** A statement sees what was there when it began, so whatever depends on the row is read by another one after this. */
export async function lockTask(session: Session, id: string): Promise<void> {
  if (!session.alone) await session.all(LOCK_TASK, { id });
}

/** Two parents that finish at once must not each take the other for unfinished. */
export async function lockChildren(session: Session, parent: string): Promise<void> {
  if (!session.alone) await session.all(LOCK_CHILDREN, { parent });
}

/** A parent that finishes meanwhile would not see its new child. */
export async function lockParents(session: Session, ids: readonly string[]): Promise<void> {
  if (session.alone) return;
  await session.query(session.build.selectFrom("tasks").select("id").where("id", "in", ids).orderBy("id").forShare().compile());
}

/** Two links at once could close a cycle that neither sees. */
export async function lockLinks(session: Session, board: string): Promise<void> {
  if (!session.alone) await session.all(LOCK_BOARD, { board });
}

export async function lockMigrations(session: Session): Promise<void> {
  if (!session.alone) await session.query(sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.compile(session.build));
}
