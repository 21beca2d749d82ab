/** @module One move of a task: read what it depends on, ask the table, write the new state against the old one, and say so in an event. */
import { type Kysely, sql } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import { first, type Holes, type Session, statement } from "./database.ts";
import { addEvent, BOARD, type EventKind, type NewEvent } from "./events.ts";
import { lockChildren, lockTask } from "./locks.ts";
import { claimLost } from "./no-claim.ts";
import { refusal } from "./refusal.ts";
import type { Tables, TaskState } from "./schema.ts";
import { noTask, type TaskRow } from "./task.ts";
import { checkLine } from "./task-input.ts";
import { hashToken } from "./token.ts";
import { type Action, FINISHED, type Mover, nextStatus } from "./transitions.ts";

/** In whose name: a person's, or that of the run whose token it is. */
export type Actor = { readonly by: string; readonly token?: never } | { readonly token: string; readonly by?: never };

/** A task with what a move of it depends on. */
export interface Standing extends TaskRow {
  /** The open run. */
  readonly run_id: number | null;
  readonly run_token: string | null;
  readonly run_profile: string | null;
  readonly run_revoked: number | null;
  /** When its board was archived. */
  readonly board_archived: number | null;
  /** 1 while a parent is unfinished. */
  readonly waiting: number;
}

export interface ActingAs {
  readonly kind: Mover;
  readonly name: string;
}

export interface MoveOptions {
  readonly action: Action;
  readonly mover: ActingAs;
  readonly kind: EventKind;
  readonly at: number;
  readonly changes?: Partial<Omit<TaskState, "status" | "phase">>;
  readonly run?: number | null;
  readonly payload?: Readonly<Record<string, unknown>>;
}

export const unfinishedParent = sql<number>`case when exists (
  select 1 from links join tasks as parents on parents.id = links.parent
  where links.child = tasks.id and parents.status not in (${sql.join(FINISHED.map((status) => sql.lit(status)))})
) then 1 else 0 end`;

const STANDING = statement<{ id: string }, Standing>((build, hole) =>
  build
    .selectFrom("tasks")
    .innerJoin("boards", "boards.slug", "tasks.board")
    .leftJoin("runs", (join) => join.onRef("runs.task", "=", "tasks.id").on("runs.ended_at", "is", null))
    .selectAll("tasks")
    .select(["runs.id as run_id", "runs.token_hash as run_token", "runs.profile as run_profile", "runs.revoked_at as run_revoked"])
    .select("boards.archived_at as board_archived")
    .select(unfinishedParent.as("waiting"))
    .where("tasks.id", "=", hole("id")),
);

const RUN_TASK = statement<{ run: number }, { task: string }>((build, hole) =>
  build.selectFrom("runs").select("task").where("id", "=", hole("run")).where("ended_at", "is", null),
);

/** Children that only waited for this parent. */
const FREED = statement<{ parent: string }, TaskRow>((build, hole) =>
  build
    .selectFrom("links as freed")
    .innerJoin("tasks", "tasks.id", "freed.child")
    .selectAll("tasks")
    .where("freed.parent", "=", hole("parent"))
    .where("tasks.status", "=", "todo")
    .where(unfinishedParent, "=", 0),
);

const STATE_COLUMNS = [
  "status",
  "phase",
  "assignee",
  "implementer",
  "started_at",
  "completed_at",
  "scheduled_for",
  "block_kind",
  "block_reason",
  "blocked_by",
  "guard_reason",
  "guard_until",
  "failures",
  "violations",
  "last_error",
] as const satisfies readonly (keyof TaskState)[];

export interface NewState extends TaskState {
  id: string;
  /** The status that it must have until then. */
  old: string;
}

const SET_STATE = statement<NewState>(setState);

export function setState(build: Kysely<Tables>, hole: Holes<NewState>) {
  return build
    .updateTable("tasks")
    .set(Object.fromEntries(STATE_COLUMNS.map((column) => [column, hole(column)])))
    .where("id", "=", hole("id"))
    .where("status", "=", hole("old") as TaskState["status"]);
}

/** The task, which nobody else changes until the transaction ends. @throws `task-not-found` */
export async function standingOf(session: Session, id: string): Promise<Standing> {
  lockTask(session, id);
  return await standingOfLocked(session, id);
}

/** For a task that an earlier statement of the transaction has locked. */
export async function standingOfLocked(session: Session, id: string): Promise<Standing> {
  const found = await first(session.all(STANDING, { id }));
  if (found === undefined) throw noTask(id);
  return found;
}

/** The task that has this open run. */
export async function taskOfRun(session: Session, run: number): Promise<Standing | undefined> {
  const found = await first(session.all(RUN_TASK, { run }));
  if (found === undefined) return undefined;
  const standing = await standingOf(session, found.task);
  return standing.run_id === run ? standing : undefined;
}

/** @throws `claim-lost` for a token that is not that of the task's open run */
export async function moverOf(session: Session, standing: Standing, actor: Actor): Promise<ActingAs> {
  if (actor.token === undefined) return { kind: "person", name: checkLine("by", actor.by) };
  if (standing.run_token !== hashToken(actor.token) || standing.run_revoked !== null)
    throw await claimLost(session, { task: standing.id, token: actor.token });
  return { kind: "worker", name: standing.run_profile ?? "" };
}

/** @throws `move-refused` with the reason */
export async function moveTask(session: Session, task: Standing, options: MoveOptions): Promise<TaskRow> {
  return await applyMove(session, task, decideMove(task, options));
}

/** What a move writes. */
export interface Move {
  readonly state: TaskState;
  readonly event: NewEvent;
}

/** @throws `move-refused` with the reason */
export function decideMove(task: Standing, options: MoveOptions): Move {
  const { action, mover, kind, at, changes = {}, run = task.run_id, payload = {} } = options;
  const verdict = nextStatus(task.status, action, { by: mover.kind, parentsDone: task.waiting === 0, phase: task.phase });
  if ("refused" in verdict) throw refusal(task, action, verdict.refused);
  const { id, board, status: from } = task;
  return {
    state: { ...stateOf(task), scheduled_for: null, ...changes, status: verdict.to, phase: verdict.phase },
    event: { board, task: id, run, kind, actor: mover.name, at, payload: { ...payload, from, to: verdict.to } },
  };
}

export async function applyMove(session: Session, task: Standing, { state, event }: Move): Promise<TaskRow> {
  session.defer(SET_STATE, { ...state, id: task.id, old: task.status }, (changed) => {
    if (changed !== 1) throw changedUnderLock(task);
  });
  await addEvent(session, event);
  return Object.assign(task, state);
}

/** Children of a task that is finished now go on at once (K8). */
export async function promoteChildren(session: Session, parent: string, at: number): Promise<void> {
  lockChildren(session, parent);
  for (const child of await session.all(FREED, { parent })) await promoteTask(session, child, at);
}

/** For a task whose parents are all finished. */
export async function promoteTask(
  session: Session,
  task: TaskRow,
  at: number,
  mover: ActingAs = { kind: "board", name: BOARD },
): Promise<void> {
  await moveTask(session, idle(task, 0), { action: "promote", mover, kind: "promoted", at });
}

/** A task without an open run, on a board that is in use. */
export function idle(task: TaskRow, waiting: 0 | 1): Standing {
  return { ...task, run_id: null, run_token: null, run_profile: null, run_revoked: null, board_archived: null, waiting };
}

/** Written out: a row has twice as many columns, and copying them all takes longer than storing these. */
function stateOf(task: TaskRow): TaskState {
  return {
    status: task.status,
    phase: task.phase,
    assignee: task.assignee,
    implementer: task.implementer,
    started_at: task.started_at,
    completed_at: task.completed_at,
    scheduled_for: task.scheduled_for,
    block_kind: task.block_kind,
    block_reason: task.block_reason,
    blocked_by: task.blocked_by,
    guard_reason: task.guard_reason,
    guard_until: task.guard_until,
    failures: task.failures,
    violations: task.violations,
    last_error: task.last_error,
  };
}

export function changedUnderLock({ id }: TaskRow): HoldfastError {
  return new HoldfastError("internal", `${id} changed under a transaction that had locked it`, { facts: { task: id } });
}
