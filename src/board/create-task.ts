/** @module New tasks. */
import { HoldfastError } from "../base/errors.ts";
import { type Author, authorOf, checkReach } from "./author.ts";
import { DEFAULT_BOARD, liveBoard } from "./boards.ts";
import { first, type Session, statement } from "./database.ts";
import { addEvent } from "./events.ts";
import { lockParents } from "./locks.ts";
import type { StoreContext } from "./store-context.ts";
import { FRESH, noTask, type Task, type TaskRow, toTask } from "./task.ts";
import { checkAssignee, checkLine, checkText, checkWhole, newColumns, type TaskFields } from "./task-input.ts";
import { newTaskId } from "./token.ts";
import { type Action, FINISHED, nextStatus } from "./transitions.ts";

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

type NewRow = Omit<TaskRow, "seq">;

const ACTIONS = { triage: "create in triage", blocked: "create blocked", scheduled: "create scheduled" } as const satisfies Record<
  string,
  Action
>;

const COLUMNS = [
  ...["id", "board", "title", "body", "status", "phase", "assignee", "implementer", "priority", "tenant", "workspace", "branch"],
  ...["idempotency_key", "max_runtime_ms", "max_retries", "skills", "model", "deadline", "created_by", "created_at", "started_at"],
  ...["completed_at", "scheduled_for", "block_kind", "block_reason", "blocked_by", "guard_reason", "guard_until", "failures", "violations"],
  "last_error",
] as readonly (keyof NewRow)[];

const INSERT = statement<NewRow, { seq: number }>((build, hole) =>
  build
    .insertInto("tasks")
    .values(Object.fromEntries(COLUMNS.map((column) => [column, hole(column)])) as unknown as NewRow)
    .onConflict((conflict) => conflict.doNothing())
    .returning("seq"),
);

const BY_KEY = statement<{ board: string; key: string }, TaskRow>((build, hole) =>
  build.selectFrom("tasks").selectAll().where("board", "=", hole("board")).where("idempotency_key", "=", hole("key")),
);

export function createOperations({ database, clock }: StoreContext): CreateOperations {
  return {
    async createTask(input, author) {
      const { board: wanted = DEFAULT_BOARD, parents = [], initial, idempotencyKey } = input;
      const draft = draftOf(input);
      return await database.write(async (session) => {
        const board = await liveBoard(session, wanted);
        const known = await authorOf(session, author);
        checkReach(known, board);
        const { name, run } = known;
        const unique = [...new Set(parents)];
        const parentsDone = await checkParents(session, board, unique);
        const action = initial === undefined ? "create" : ACTIONS[initial];
        const verdict = nextStatus("new", action, { by: author.by === undefined ? "worker" : "person", parentsDone, phase: "work" });
        if ("refused" in verdict) throw new HoldfastError("internal", `a task cannot be made: ${verdict.refused}`);
        const at = clock.now();
        const blockedBy = initial === "blocked" ? name : null;
        const row = { ...draft, board, status: verdict.to, blocked_by: blockedBy, created_by: name, created_at: at };
        const made = await insertTask(session, row);
        if (!made.created) return { task: toTask(made.row), created: false };
        const { id } = made.row;
        if (unique.length > 0) {
          await session.change(
            session.build
              .insertInto("links")
              .values(unique.map((parent) => ({ parent, child: id })))
              .compile(),
          );
        }
        const payload = {
          from: "new",
          to: verdict.to,
          ...(unique.length > 0 && { parents: unique }),
          ...(idempotencyKey && { idempotencyKey }),
        };
        await addEvent(session, { board, task: id, run, kind: "created", actor: name, at, payload });
        return { task: toTask(made.row), created: true };
      });
    },
  };
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
  return found.every(({ status }) => (FINISHED as readonly string[]).includes(status));
}

/** An id that is taken is no error: of 32 bits, some meet among many tasks. */
async function insertTask(session: Session, row: Omit<NewRow, "id">): Promise<{ row: TaskRow; created: boolean }> {
  const { board, idempotency_key: key } = row;
  for (;;) {
    const full = { ...row, id: newTaskId() };
    const inserted = await first(session.all(INSERT, full));
    if (inserted !== undefined) return { row: { ...full, seq: inserted.seq }, created: true };
    const existing = key === null ? undefined : await first(session.all(BY_KEY, { board, key }));
    if (existing !== undefined) return { row: existing, created: false };
  }
}

function draftOf(input: NewTask): Omit<NewRow, "id" | "board" | "status" | "created_by" | "created_at"> {
  const { initial, scheduledFor, reason, idempotencyKey } = input;
  if ((initial === "scheduled") !== (scheduledFor !== undefined)) {
    throw new HoldfastError("invalid-input", "scheduledFor and initial: scheduled belong together", { facts: { field: "scheduledFor" } });
  }
  return {
    ...FRESH,
    ...newColumns(input),
    assignee: checkAssignee(input.assignee),
    idempotency_key: idempotencyKey === undefined ? null : checkLine("idempotencyKey", idempotencyKey),
    scheduled_for: scheduledFor === undefined ? null : checkWhole("scheduledFor", scheduledFor),
    block_reason: initial === "blocked" && reason !== undefined ? checkText("reason", reason) : null,
  };
}
