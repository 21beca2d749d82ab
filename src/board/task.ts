/** @module A task as the board gives it out. */
import type { Selectable } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import type { BlockKind, TaskState, TaskTable } from "./schema.ts";
import type { Phase, Status } from "./transitions.ts";

export interface Task {
  readonly id: string;
  readonly board: string;
  /** Grows with age. */
  readonly seq: number;
  readonly title: string;
  readonly body: string;
  readonly status: Status;
  readonly phase: Phase;
  readonly assignee: string | null;
  readonly implementer: string | null;
  readonly priority: number;
  readonly tenant: string | null;
  /** `scratch`, `dir:/path` or `worktree[:/path]`. */
  readonly workspace: string;
  readonly branch: string | null;
  readonly idempotencyKey: string | null;
  readonly maxRuntimeMs: number | null;
  readonly maxRetries: number | null;
  /** null: the profile's own. */
  readonly skills: readonly string[] | null;
  readonly model: string | null;
  readonly deadline: number | null;
  /** When the board noted that the deadline had passed. */
  readonly overdueAt: number | null;
  /** `every 90m`, or five fields of cron: when it is done, the next one is made for then. */
  readonly repeat: string | null;
  /** Of `repeat`. null: the machine's. */
  readonly timeZone: string | null;
  /** The id of the first of those that repeat one another. */
  readonly series: string | null;
  /** The one that was made when this one was done. */
  readonly successor: string | null;
  readonly decomposedAt: number | null;
  /** It was made in a sandbox, handed on from one, or worked on in one, so it is for workers that are as isolated. */
  readonly fromSandbox: boolean;
  readonly createdBy: string;
  readonly createdAt: number;
  /** When its first run began. */
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly scheduledFor: number | null;
  readonly blocked: { readonly kind: BlockKind | null; readonly reason: string | null; readonly by: string } | null;
  /** Nobody takes it before then. */
  readonly guard: { readonly reason: string; readonly until: number } | null;
  /** Runs that failed since the last one that did not. */
  readonly failures: number;
  /** Runs that ended well, but without a word, since the last one with one. */
  readonly violations: number;
  readonly lastError: string | null;
}

export type TaskRow = Selectable<TaskTable>;

/** Of a task that nothing holds back. */
export const FREE = {
  block_kind: null,
  block_reason: null,
  blocked_by: null,
  guard_reason: null,
  guard_until: null,
  failures: 0,
  violations: 0,
} as const;

export const FRESH: TaskState = {
  status: "todo",
  phase: "work",
  assignee: null,
  implementer: null,
  started_at: null,
  completed_at: null,
  scheduled_for: null,
  ...FREE,
  last_error: null,
};

/** Of a task to which nothing has happened that happens once. */
export const FRESH_HISTORY = { overdue_at: null, series: null, successor: null, decomposed_at: null, from_sandbox: 0 } as const;

export function toTask(row: TaskRow): Task {
  const { blocked_by: by, guard_reason: reason, guard_until: until } = row;
  return {
    id: row.id,
    board: row.board,
    seq: row.seq,
    title: row.title,
    body: row.body,
    status: row.status,
    phase: row.phase,
    assignee: row.assignee,
    implementer: row.implementer,
    priority: row.priority,
    tenant: row.tenant,
    workspace: row.workspace,
    branch: row.branch,
    idempotencyKey: row.idempotency_key,
    maxRuntimeMs: row.max_runtime_ms,
    maxRetries: row.max_retries,
    skills: row.skills === null ? null : (JSON.parse(row.skills) as string[]),
    model: row.model,
    deadline: row.deadline,
    overdueAt: row.overdue_at,
    repeat: row.repeat,
    timeZone: row.time_zone,
    series: row.series,
    successor: row.successor,
    decomposedAt: row.decomposed_at,
    fromSandbox: row.from_sandbox === 1,
    createdBy: row.created_by,
    createdAt: row.created_at,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    scheduledFor: row.scheduled_for,
    blocked: by === null ? null : { kind: row.block_kind, reason: row.block_reason, by },
    guard: reason === null || until === null ? null : { reason, until },
    failures: row.failures,
    violations: row.violations,
    lastError: row.last_error,
  };
}

export function noTask(id: string): HoldfastError {
  return new HoldfastError("task-not-found", `there is no task ${JSON.stringify(id.slice(0, 80))}`, { facts: { task: id.slice(0, 80) } });
}
