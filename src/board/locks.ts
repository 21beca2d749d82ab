/**
 * @module Rows that must stand still until the transaction ends, in databases where others write at the same time. Parents come before
 * children and ids in order, so that two transactions seldom wait for each other; when they do, the database ends one, which begins anew.
 */
import { sql } from "kysely";
import { type Session, statement } from "./database.ts";

const MIGRATION_LOCK = 1_650_811_002;
const CAPS_LOCK = 1_650_811_003;

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
export function lockTask(session: Session, id: string): void {
  if (!session.alone) session.defer(LOCK_TASK, { id });
}

/** Two parents that finish at once must not each take the other for unfinished. */
export function lockChildren(session: Session, parent: string): void {
  if (!session.alone) session.defer(LOCK_CHILDREN, { parent });
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

/** Whoever is taking a task is done or has not begun, so what is running is known until the transaction ends. */
export async function lockTasks(session: Session): Promise<void> {
  if (!session.alone) await session.query(sql`lock table tasks in exclusive mode`.compile(session.build));
}

export async function lockMigrations(session: Session): Promise<void> {
  if (!session.alone) await session.query(sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.compile(session.build));
}

/** Two claims at once could each count without the other. */
export async function lockCaps(session: Session): Promise<void> {
  if (!session.alone) await session.query(sql`select pg_advisory_xact_lock(${sql.lit(CAPS_LOCK)})`.compile(session.build));
}
