/** @module Events: what happened on a board, in order, never changed. They tell; the state is in the columns. */
import type { Selectable } from "kysely";
import { type Session, statement } from "./database.ts";
import type { EventTable } from "./schema.ts";
import type { StoreContext } from "./store-context.ts";

export type EventKind =
  | "board_created"
  | "board_edited"
  | "board_archived"
  | "board_removed"
  | "board_imported"
  | "task_removed"
  | "created"
  | "edited"
  | "assigned"
  | "linked"
  | "unlinked"
  | "commented"
  | "attached"
  | "attachment_removed"
  | "specified"
  | "decomposed"
  | "repeated"
  | "deadline_missed"
  | "reopened"
  | "promoted"
  | "held"
  | "claimed"
  | "worker_started"
  | "worker_exited"
  | "sandbox_drifted"
  | "revoked"
  | "completed"
  | "blocked"
  | "waiting"
  | "unblocked"
  | "scheduled"
  | "woken"
  | "review_requested"
  | "changes_requested"
  | "archived"
  | "reclaimed"
  | "crashed"
  | "timed_out"
  | "stale"
  | "rate_limited"
  | "spawn_failed"
  | "protocol_violation"
  | "gave_up"
  | "guarded"
  | "guard_lifted";

export interface BoardEvent {
  /** Grows; a reader that has seen it has seen all before it. */
  readonly id: number;
  readonly board: string;
  readonly task: string | null;
  readonly run: number | null;
  readonly kind: EventKind;
  /** Who: a name that a person gave, the profile of a run, or `board`. */
  readonly actor: string;
  /** An event of a move has `from` and `to`. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: number;
}

export interface NewEvent {
  readonly board: string;
  readonly task?: string | null;
  readonly run?: number | null;
  readonly kind: EventKind;
  readonly actor: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly at: number;
}

export interface EventFilter {
  readonly board?: string;
  readonly task?: string;
  readonly run?: number;
  /** Only those after it. @default 0 */
  readonly since?: number;
  /** @default 1000 */
  readonly limit?: number;
}

export interface EventOperations {
  /** Oldest first. */
  events(filter?: EventFilter): Promise<BoardEvent[]>;
  /** The id of the newest event, 0 when there is none. */
  lastEvent(): Promise<number>;
}

/** Who acts when the board itself does. */
export const BOARD = "board";

const DEFAULT_LIMIT = 1000;

/** Besides those of moves. */
const ANNOUNCED: ReadonlySet<EventKind> = new Set([
  "assigned",
  "revoked",
  "worker_exited",
  "guard_lifted",
  "reopened",
  "board_created",
  "board_archived",
  "board_removed",
]);

type EventValues = Omit<Selectable<EventTable>, "id">;

const INSERT = statement<EventValues>((build, hole) =>
  build.insertInto("events").values({
    board: hole("board"),
    task: hole("task"),
    run: hole("run"),
    kind: hole("kind"),
    actor: hole("actor"),
    payload: hole("payload"),
    created_at: hole("created_at"),
  }),
);

const LAST = statement<object, { id: number | null }>((build) => build.selectFrom("events").select(({ fn }) => fn.max("id").as("id")));

export async function addEvent(
  session: Session,
  { board, task = null, run = null, kind, actor, payload = {}, at }: NewEvent,
): Promise<void> {
  session.defer(INSERT, { board, task, run, kind, actor, payload: JSON.stringify(payload), created_at: at });
  if (concernsDispatchers(kind, payload)) session.announce();
}

/** It may have made a task startable, changed when one will be, freed a place, or asks for a worker to be ended. */
function concernsDispatchers(kind: EventKind, { from, to }: NonNullable<NewEvent["payload"]>): boolean {
  return from === "running" || to === "ready" || to === "review" || to === "scheduled" || ANNOUNCED.has(kind);
}

export async function lastEventOf(session: Session): Promise<number> {
  const [row] = await session.all(LAST, {});
  return row?.id ?? 0;
}

export function eventOperations({ database }: StoreContext): EventOperations {
  return {
    async events({ board, task, run, since = 0, limit = DEFAULT_LIMIT } = {}) {
      let query = database.build.selectFrom("events").selectAll().where("id", ">", since).orderBy("id").limit(limit);
      if (board !== undefined) query = query.where("board", "=", board);
      if (task !== undefined) query = query.where("task", "=", task);
      if (run !== undefined) query = query.where("run", "=", run);
      const rows = await database.readSettled((session) => session.query(query.compile()));
      return rows.map(toEvent);
    },
    lastEvent: () => database.readSettled(lastEventOf),
  };
}

export function toEvent({ payload, kind, created_at: at, ...row }: Selectable<EventTable>): BoardEvent {
  return { ...row, kind: kind as EventKind, payload: JSON.parse(payload) as Record<string, unknown>, at };
}
