/** @module The schema of the board's database, as numbered steps from nothing to the newest. A step that was published never changes. */
import { type ColumnDataType, type CompiledQuery, type Kysely, type RawBuilder, sql } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import type { DialectName, Session } from "./database.ts";
import { BLOCK_KINDS, LARGEST_ATTACHMENT, OUTCOMES, type Tables } from "./schema.ts";
import { PHASES, STATUSES } from "./transitions.ts";

type Step = (build: Kysely<Tables>, dialect: DialectName) => readonly { compile(build: Kysely<Tables>): CompiledQuery<unknown> }[];

/** The first one leads from an empty database to version 1. */
const STEPS: readonly Step[] = [firstTables, repeatsAndDeadlines, newestFirst, namedPlaces, fromSandboxes];

export const NEWEST_VERSION = STEPS.length;

/** In the transaction of a session that nobody else can write beside. @throws `board-too-new` */
export async function migrate(session: Session, location: string, { to = NEWEST_VERSION }: { to?: number } = {}): Promise<void> {
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
  if (version >= to) return;
  for (const step of STEPS.slice(version, to)) for (const query of step(build, dialect)) await session.query(query.compile(build));
  await session.query(
    build
      .insertInto("meta")
      .values({ key: "version", value: to })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: to }))
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
      .addColumn("block_kind", "text", (c) => c.check(oneOf("block_kind", ["needs_input", "capability", "transient", "gave_up"])))
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

function repeatsAndDeadlines({ schema }: Kysely<Tables>, dialect: DialectName) {
  const big: ColumnDataType = dialect === "postgres" ? "bigint" : "integer";
  const add = (name: string, type: ColumnDataType) => schema.alterTable("tasks").addColumn(name, type);
  return [
    add("overdue_at", big),
    add("repeat", "text"),
    add("time_zone", "text"),
    add("series", "text"),
    add("successor", "text"),
    add("decomposed_at", big),
    // SQLite cannot change what a column may hold, and to make the table anew would remove every row that points into it.
    schema.alterTable("tasks").addColumn("block_cause", "text", (c) => c.check(oneOf("block_cause", BLOCK_KINDS))),
    sql`update tasks set block_cause = block_kind where block_kind is not null`,
    schema.alterTable("tasks").dropColumn("block_kind"),
    schema.alterTable("tasks").renameColumn("block_cause", "block_kind"),
    schema
      .createIndex("tasks_deadline")
      .on("tasks")
      .column("deadline")
      .where(sql<boolean>`deadline is not null and overdue_at is null and status not in ('done', 'archived')`),
    schema.alterTable("runs").addColumn("board", "text"),
    sql`update runs set board = (select board from tasks where tasks.id = runs.task)`,
    // For numbers about all that ever was. It costs something only when a run ends.
    schema.createIndex("runs_sums").on("runs").columns(["board", "outcome", "cost", "tokens"]).where(sql.ref("outcome"), "is not", null),
    // Each event would lock the row of its board for a moment, and those who write at once would wait for each other there.
    ...(dialect === "postgres" ? [schema.alterTable("events").dropConstraint("events_board_fkey")] : []),
    schema.createIndex("tasks_guard").on("tasks").column("guard_until").where(sql.ref("guard_until"), "is not", null),
  ];
}

/** For those that were finished last, of any number, and for how many each assignee has. It costs something only when a task ends. */
function newestFirst() {
  const columns = sql.raw("board, status, (coalesce(completed_at, created_at)), seq, assignee");
  return [sql`create index tasks_finished on tasks (${columns}) where status in ('done', 'archived')`];
}

/** For the directories that unfinished tasks name: most tasks name none, and are not in it. */
function namedPlaces() {
  return [
    sql`create index tasks_places on tasks (board, workspace, id) where workspace <> 'scratch' and status not in ('done', 'archived')`,
  ];
}

/** Trust does not rise: what comes from a sandbox is known, and where one could write on the host, for ever. */
function fromSandboxes({ schema }: Kysely<Tables>, dialect: DialectName) {
  const big: ColumnDataType = dialect === "postgres" ? "bigint" : "integer";
  return [
    schema.alterTable("tasks").addColumn("from_sandbox", "integer", (c) => c.notNull().defaultTo(0)),
    schema
      .createTable("sandbox_places")
      .addColumn("path", "text", (c) => c.primaryKey())
      .addColumn("managed", "integer", (c) => c.notNull())
      .addColumn("task", "text", (c) => c.notNull())
      .addColumn("created_at", big, (c) => c.notNull()),
    schema.createIndex("sandbox_places_named").on("sandbox_places").column("path").where(sql.ref("managed"), "=", sql.lit(0)),
  ];
}

function oneOf(column: string, words: readonly string[]): RawBuilder<boolean> {
  return sql`${sql.ref(column)} in (${sql.join(words.map((word) => sql.lit(word)))})`;
}
