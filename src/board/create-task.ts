/** @module New tasks. */
import { HoldfastError } from "../base/errors.ts";
import { type Author, authorOf, checkReach, type KnownAuthor } from "./author.ts";
import { liveBoard } from "./boards.ts";
import { first, type Session, statement } from "./database.ts";
import { addEvent } from "./events.ts";
import { lockParents } from "./locks.ts";
import { checkCron } from "./repeat.ts";
import { DEFAULT_BOARD } from "./slug.ts";
import type { StoreContext } from "./store-context.ts";
import { FRESH, FRESH_HISTORY, noTask, type Task, type TaskRow, toTask } from "./task.ts";
import { checkAssignee, checkLine, checkText, checkWhole, newColumns, type TaskFields } from "./task-input.ts";
import { newTaskId } from "./token.ts";
import { type Action, isFinished, nextStatus } from "./transitions.ts";

export interface NewTask extends TaskFields {
  /** @default "default" */
  readonly board?: string | undefined;
  readonly assignee?: string | null | undefined;
  /** Tasks that must be finished before. */
  readonly parents?: readonly string[] | undefined;
  /** The board keeps one task of each key: asking again gives the first one. */
  readonly idempotencyKey?: string | undefined;
  /** Where it begins, instead of in the pool. `scheduled` needs a time. */
  readonly initial?: "triage" | "blocked" | "scheduled" | undefined;
  readonly scheduledFor?: number | undefined;
  /** Why it is blocked. */
  readonly reason?: string | undefined;
}

export interface CreatedTask {
  readonly task: Task;
  /** False when the key was known. */
  readonly created: boolean;
}

export interface CreateOperations {
  /** @throws `board-not-found`, `task-not-found` for a parent, `link-refused` for one on another board */
  createTask(task: NewTask, author: Author): Promise<CreatedTask>;
}

export type NewRow = Omit<TaskRow, "seq">;

export interface MadeTask {
  readonly row: TaskRow;
  /** False when the key was known. */
  readonly created: boolean;
}

const ACTIONS = { triage: "create in triage", blocked: "create blocked", scheduled: "create scheduled" } as const satisfies Record<
  string,
  Action
>;

const COLUMNS = [
  ...["id", "board", "title", "body", "status", "phase", "assignee", "implementer", "priority", "tenant", "workspace", "branch"],
  ...["idempotency_key", "max_runtime_ms", "max_retries", "skills", "model", "deadline", "created_by", "created_at", "started_at"],
  ...["completed_at", "scheduled_for", "block_kind", "block_reason", "blocked_by", "guard_reason", "guard_until", "failures", "violations"],
  ...["last_error", "overdue_at", "repeat", "time_zone", "series", "successor", "decomposed_at", "from_sandbox"],
] as readonly (keyof NewRow)[];

const INSERT = statement<NewRow, { seq: number }>((build, hole) =>
  build
    .insertInto("tasks")
    .values(Object.fromEntries(COLUMNS.map((column) => [column, hole(column)])) as unknown as NewRow)
    .onConflict((conflict) => conflict.doNothing())
    .returning("seq"),
);

export const BY_KEY = statement<{ board: string; key: string }, TaskRow>((build, hole) =>
  build.selectFrom("tasks").selectAll().where("board", "=", hole("board")).where("idempotency_key", "=", hole("key")),
);

export function createOperations({ database, clock }: StoreContext): CreateOperations {
  return {
    async createTask(input, author) {
      const draft = draftOf(input);
      await checkCron(input.repeat, clock.now());
      return await database.write(async (session) => {
        const { row, created } = await makeTask(session, draft, { author: await authorOf(session, author), at: clock.now() });
        return { task: toTask(row), created };
      });
    },
  };
}

export interface MakeOptions {
  readonly author: KnownAuthor;
  readonly at: number;
}

/** In a transaction of others. */
export async function makeTask(session: Session, draft: Draft, { author, at }: MakeOptions): Promise<MadeTask> {
  const { wanted, parents, initial, columns } = draft;
  const board = await liveBoard(session, wanted);
  checkReach(author, board);
  const { name, run } = author;
  const parentsDone = await checkParents(session, board, parents);
  const action = initial === undefined ? "create" : ACTIONS[initial];
  const verdict = nextStatus("new", action, { by: run === null ? "person" : "worker", parentsDone, phase: "work" });
  if ("refused" in verdict) throw new HoldfastError("internal", `a task cannot be made: ${verdict.refused}`);
  const blockedBy = initial === "blocked" ? name : null;
  const made = await insertTask(session, {
    ...columns,
    board,
    status: verdict.to,
    blocked_by: blockedBy,
    from_sandbox: author.isolated ? 1 : 0,
    created_by: name,
    created_at: at,
  });
  if (!made.created) return made;
  const { id, idempotency_key: idempotencyKey } = made.row;
  if (parents.length > 0) {
    await session.change(
      session.build
        .insertInto("links")
        .values(parents.map((parent) => ({ parent, child: id })))
        .compile(),
    );
  }
  const payload = {
    from: "new",
    to: verdict.to,
    ...(parents.length > 0 && { parents }),
    ...(idempotencyKey && { idempotencyKey }),
  };
  await addEvent(session, { board, task: id, run, kind: "created", actor: name, at, payload });
  return made;
}

/** Whether all of them are finished. */
async function checkParents(session: Session, board: string, parents: readonly string[]): Promise<boolean> {
  if (parents.length === 0) return true;
  await lockParents(session, parents);
  const found = await session.query(
    session.build.selectFrom("tasks").select(["id", "board", "status"]).where("id", "in", parents).compile(),
  );
  const missing = parents.find((parent) => !found.some(({ id }) => id === parent));
  if (missing !== undefined) throw noTask(missing);
  const stranger = found.find((parent) => parent.board !== board);
  if (stranger !== undefined) {
    throw new HoldfastError("link-refused", `the parent ${stranger.id} is on the board ${stranger.board}, not on ${board}`, {
      facts: { parent: stranger.id, board },
    });
  }
  return found.every(({ status }) => isFinished(status));
}

/**
 * An id that is taken is no error: of 32 bits, some meet among many tasks. One that repeats begins its own series, unless it has one.
 * @param wanted Its id, if that is free.
 */
export async function insertTask(session: Session, row: Omit<NewRow, "id">, wanted = newTaskId()): Promise<MadeTask> {
  const { board, idempotency_key: key } = row;
  for (let id = wanted; ; id = newTaskId()) {
    const full = { ...row, id, series: row.series ?? (row.repeat === null ? null : id) };
    const inserted = await first(session.all(INSERT, full));
    if (inserted !== undefined) {
      // A dispatcher sleeps until the next time that it knows of.
      if (row.deadline !== null) session.announce();
      return { row: { ...full, seq: inserted.seq }, created: true };
    }
    const existing = key === null ? undefined : await first(session.all(BY_KEY, { board, key }));
    if (existing !== undefined) return { row: existing, created: false };
  }
}

/** Of a new task that was checked. */
export interface Draft {
  /** The name of its board. */
  readonly wanted: string;
  readonly parents: readonly string[];
  readonly initial: NewTask["initial"];
  readonly columns: Omit<NewRow, "id" | "board" | "status" | "created_by" | "created_at">;
}

export function draftOf(input: NewTask): Draft {
  const { initial, scheduledFor, reason, idempotencyKey, board = DEFAULT_BOARD, parents = [] } = input;
  if ((initial === "scheduled") !== (scheduledFor !== undefined)) {
    throw new HoldfastError("invalid-input", "scheduledFor and initial: scheduled belong together", { facts: { field: "scheduledFor" } });
  }
  const columns = {
    ...FRESH,
    ...FRESH_HISTORY,
    ...newColumns(input),
    assignee: checkAssignee(input.assignee),
    idempotency_key: idempotencyKey === undefined ? null : checkLine("idempotencyKey", idempotencyKey),
    scheduled_for: scheduledFor === undefined ? null : checkWhole("scheduledFor", scheduledFor),
    block_reason: initial === "blocked" && reason !== undefined ? checkText("reason", reason) : null,
  };
  return { wanted: board, parents: [...new Set(parents)], initial, columns };
}
