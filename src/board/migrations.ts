/** @module The schema of the board's database, as numbered steps from nothing to the newest. A step that was published never changes. */
import { type ColumnDataType, type CreateTableBuilder, type Kysely, type RawBuilder, sql } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import type { DialectName, Session } from "./database.ts";
import { BLOCK_KINDS, LARGEST_ATTACHMENT, OUTCOMES, type Tables } from "./schema.ts";
import { PHASES, STATUSES } from "./transitions.ts";

type Step = (build: Kysely<Tables>, dialect: DialectName) => readonly { compile(): ReturnType<CreateTableBuilder<string>["compile"]> }[];

/** The first one leads from an empty database to version 1. */
const STEPS: readonly Step[] = [firstTables];

export const NEWEST_VERSION = STEPS.length;

/** In the transaction of a session that nobody else can write beside. @throws `board-too-new` */
export async function migrate(session: Session, location: string): Promise<void> {
  const { build, dialect } = session;
  await session.query(
    build.schema
      .createTable("meta")
      .ifNotExists()
      .addColumn("key", "text", (c) => c.primaryKey())
      .addColumn("value", "integer", (c) => c.notNull())
      .compile(),
  );
  const [row] = await session.query(build.selectFrom("meta").select("value").where("key", "=", "version").compile());
  const version = row?.value ?? 0;
  if (version > NEWEST_VERSION) {
    throw new HoldfastError("board-too-new", `the board in ${location} was made by a newer Holdfast`, {
      facts: { location, version, newest: NEWEST_VERSION },
    });
  }
  if (version === NEWEST_VERSION) return;
  for (const step of STEPS.slice(version)) for (const query of step(build, dialect)) await session.query(query.compile());
  await session.query(
    build
      .insertInto("meta")
      .values({ key: "version", value: NEWEST_VERSION })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: NEWEST_VERSION }))
      .compile(),
  );
}

function firstTables({ schema }: Kysely<Tables>, dialect: DialectName) {
  const big: ColumnDataType = dialect === "postgres" ? "bigint" : "integer";
  const number = (table: string, name: string) =>
    schema
      .createTable(table)
      .addColumn(name, big, (c) => (dialect === "postgres" ? c.primaryKey().generatedAlwaysAsIdentity() : c.primaryKey()));

  return [
    schema
      .createTable("boards")
      .addColumn("slug", "text", (c) => c.primaryKey())
      .addColumn("name", "text", (c) => c.notNull())
      .addColumn("description", "text", (c) => c.notNull())
      .addColumn("icon", "text", (c) => c.notNull())
      .addColumn("default_workdir", "text")
      .addColumn("created_at", big, (c) => c.notNull())
      .addColumn("archived_at", big),
    number("tasks", "seq")
      .addColumn("id", "text", (c) => c.notNull().unique())
      .addColumn("board", "text", (c) => c.notNull().references("boards.slug").onDelete("cascade"))
      .addColumn("title", "text", (c) => c.notNull())
      .addColumn("body", "text", (c) => c.notNull())
      .addColumn("status", "text", (c) => c.notNull().check(oneOf("status", STATUSES)))
      .addColumn("phase", "text", (c) => c.notNull().check(oneOf("phase", PHASES)))
      .addColumn("assignee", "text")
      .addColumn("implementer", "text")
      .addColumn("priority", "integer", (c) => c.notNull())
      .addColumn("tenant", "text")
      .addColumn("workspace", "text", (c) => c.notNull())
      .addColumn("branch", "text")
      .addColumn("idempotency_key", "text")
      .addColumn("max_runtime_ms", big)
      .addColumn("max_retries", "integer")
      .addColumn("skills", "text")
      .addColumn("model", "text")
      .addColumn("deadline", big)
      .addColumn("created_by", "text", (c) => c.notNull())
      .addColumn("created_at", big, (c) => c.notNull())
      .addColumn("started_at", big)
      .addColumn("completed_at", big)
      .addColumn("scheduled_for", big)
      .addColumn("block_kind", "text", (c) => c.check(oneOf("block_kind", BLOCK_KINDS)))
      .addColumn("block_reason", "text")
      .addColumn("blocked_by", "text")
      .addColumn("guard_reason", "text")
      .addColumn("guard_until", big)
      .addColumn("failures", "integer", (c) => c.notNull())
      .addColumn("violations", "integer", (c) => c.notNull())
      .addColumn("last_error", "text")
      .addCheckConstraint("tasks_scheduled", sql`(status = 'scheduled') = (scheduled_for is not null)`),
    schema.createIndex("tasks_order").on("tasks").columns(["board", "status", "priority desc", "seq"]),
    schema.createIndex("tasks_due").on("tasks").column("scheduled_for").where(sql.ref("scheduled_for"), "is not", null),
    schema
      .createIndex("tasks_key")
      .unique()
      .on("tasks")
      .columns(["board", "idempotency_key"])
      .where(sql.ref("idempotency_key"), "is not", null),
    schema
      .createTable("links")
      .addColumn("parent", "text", (c) => c.references("tasks.id").onDelete("cascade"))
      .addColumn("child", "text", (c) => c.references("tasks.id").onDelete("cascade"))
      .addPrimaryKeyConstraint("links_pair", ["parent", "child"])
      .addCheckConstraint("links_self", sql`parent <> child`),
    schema.createIndex("links_child").on("links").column("child"),
    number("runs", "id")
      .addColumn("task", "text", (c) => c.notNull().references("tasks.id").onDelete("cascade"))
      .addColumn("profile", "text", (c) => c.notNull())
      .addColumn("phase", "text", (c) => c.notNull().check(oneOf("phase", PHASES)))
      .addColumn("token_hash", "text")
      .addColumn("claimed_by", "text", (c) => c.notNull())
      .addColumn("worker", "text")
      .addColumn("started_at", big, (c) => c.notNull())
      .addColumn("expires_at", big)
      .addColumn("heartbeat_at", big)
      .addColumn("revoked_at", big)
      .addColumn("ended_at", big)
      .addColumn("outcome", "text", (c) => c.check(oneOf("outcome", OUTCOMES)))
      .addColumn("summary", "text")
      .addColumn("metadata", "text")
      .addColumn("error", "text")
      .addColumn("cost", "double precision")
      .addColumn("tokens", big)
      .addCheckConstraint("runs_ended", sql`(ended_at is null) = (outcome is null)`),
    schema.createIndex("runs_task").on("runs").column("task"),
    schema.createIndex("runs_open").unique().on("runs").column("task").where(sql.ref("ended_at"), "is", null),
    // A run goes only with its task, and what points to a run goes with the same task: a key of its own would only cost an index.
    number("events", "id")
      .addColumn("board", "text", (c) => c.notNull().references("boards.slug").onDelete("cascade"))
      .addColumn("task", "text", (c) => c.references("tasks.id").onDelete("cascade"))
      .addColumn("run", big)
      .addColumn("kind", "text", (c) => c.notNull())
      .addColumn("actor", "text", (c) => c.notNull())
      .addColumn("payload", "text", (c) => c.notNull())
      .addColumn("created_at", big, (c) => c.notNull()),
    schema
      .createIndex("events_task")
      .on("events")
      .columns(dialect === "postgres" ? ["task", "id"] : ["task"]),
    number("comments", "id")
      .addColumn("task", "text", (c) => c.notNull().references("tasks.id").onDelete("cascade"))
      .addColumn("run", big)
      .addColumn("author", "text", (c) => c.notNull())
      .addColumn("body", "text", (c) => c.notNull())
      .addColumn("created_at", big, (c) => c.notNull()),
    schema.createIndex("comments_task").on("comments").column("task"),
    number("attachments", "id")
      .addColumn("task", "text", (c) => c.notNull().references("tasks.id").onDelete("cascade"))
      .addColumn("run", big)
      .addColumn("name", "text", (c) => c.notNull())
      .addColumn("path", "text", (c) => c.notNull())
      .addColumn("content_type", "text", (c) => c.notNull())
      .addColumn("size", big, (c) => c.notNull().check(sql`size between 0 and ${sql.lit(LARGEST_ATTACHMENT)}`))
      .addColumn("added_by", "text", (c) => c.notNull())
      .addColumn("created_at", big, (c) => c.notNull()),
    schema.createIndex("attachments_task").on("attachments").column("task"),
    schema
      .createTable("leaders")
      .addColumn("board", "text", (c) => c.primaryKey().references("boards.slug").onDelete("cascade"))
      .addColumn("holder", "text", (c) => c.notNull())
      .addColumn("term", big, (c) => c.notNull())
      .addColumn("expires_at", big, (c) => c.notNull()),
  ];
}

function oneOf(column: string, words: readonly string[]): RawBuilder<boolean> {
  return sql`${sql.ref(column)} in (${sql.join(words.map((word) => sql.lit(word)))})`;
}
