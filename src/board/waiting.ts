/** @module What a dispatcher looks at in each of its passes: the tasks that wait for a run, and the runs that are open. */
import { sql } from "kysely";
import { statement } from "./database.ts";
import { type Run, type RunRow, toRun } from "./runs.ts";
import type { StoreContext } from "./store-context.ts";
import type { Task, TaskRow } from "./task.ts";
import { checkWhole, LARGEST_WHOLE } from "./task-input.ts";

/** Only what decides where a task goes. */
export interface WaitingTask
  extends Pick<Task, "id" | "seq" | "phase" | "assignee" | "priority" | "workspace" | "fromSandbox" | "maxRuntimeMs" | "guard"> {
  readonly status: "ready" | "review";
}

export interface OpenRun extends Run {
  /** Of its task. */
  readonly maxRuntimeMs: number | null;
}

export interface WaitingOperations {
  /** Those that are ready or in review, the most urgent first, then the oldest. */
  waiting(board: string, options?: { limit?: number | undefined }): Promise<WaitingTask[]>;
  /** Oldest first. */
  openRuns(board: string): Promise<OpenRun[]>;
}

type WaitingRow = Pick<
  TaskRow,
  "id" | "seq" | "phase" | "assignee" | "priority" | "workspace" | "from_sandbox" | "max_runtime_ms" | "guard_reason" | "guard_until"
> & { status: WaitingTask["status"] };

const COLUMNS = [
  "id",
  "seq",
  "status",
  "phase",
  "assignee",
  "priority",
  "workspace",
  "from_sandbox",
  "max_runtime_ms",
  "guard_reason",
  "guard_until",
] as const;

/** Two ordered parts, so that both databases merge what their index has already put in order instead of sorting all of it. */
const WAITING = statement<{ board: string; limit: number }, WaitingRow>((build, hole) => {
  const of = (status: WaitingTask["status"]) =>
    build
      .selectFrom("tasks")
      .select(COLUMNS)
      .where("board", "=", hole("board"))
      .where("status", "=", sql.lit(status))
      .$castTo<WaitingRow>();
  return of("ready").unionAll(of("review")).orderBy("priority", "desc").orderBy("seq").limit(hole("limit"));
});

/** From the run to its task, which a cross join makes SQLite do: there are few open runs and any number of tasks. */
const OPEN_RUNS = statement<{ board: string }, RunRow & { max_runtime_ms: number | null }>((build, hole) =>
  build
    .selectFrom("runs")
    .crossJoin("tasks")
    .selectAll("runs")
    .select("tasks.max_runtime_ms")
    .whereRef("tasks.id", "=", "runs.task")
    .where("tasks.board", "=", hole("board"))
    .where("runs.ended_at", "is", null)
    // Ordered by the bare id, SQLite would go through all runs instead of the index of open ones.
    .orderBy(sql`runs.id + 0`),
);

export function waitingOperations({ database }: StoreContext): WaitingOperations {
  return {
    async waiting(board, { limit = LARGEST_WHOLE } = {}) {
      const rows = await database.read((session) => session.all(WAITING, { board, limit: checkWhole("limit", limit) }));
      return rows.map(toWaiting);
    },
    async openRuns(board) {
      const rows = await database.read((session) => session.all(OPEN_RUNS, { board }));
      return rows.map((row) => ({ ...toRun(row), maxRuntimeMs: row.max_runtime_ms }));
    },
  };
}

function toWaiting(row: WaitingRow): WaitingTask {
  const { guard_reason: reason, guard_until: until } = row;
  return {
    id: row.id,
    seq: row.seq,
    status: row.status,
    phase: row.phase,
    assignee: row.assignee,
    priority: row.priority,
    workspace: row.workspace,
    fromSandbox: row.from_sandbox === 1,
    maxRuntimeMs: row.max_runtime_ms,
    guard: reason === null || until === null ? null : { reason, until },
  };
}
