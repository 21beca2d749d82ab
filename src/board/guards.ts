/** @module Guards: why nobody takes a task before a time (K21). */
import { type Session, statement } from "./database.ts";
import { addEvent } from "./events.ts";
import { refusal } from "./refusal.ts";
import { type Standing, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { type Task, toTask } from "./task.ts";
import { checkLine, checkWhole } from "./task-input.ts";

export interface GuardOperations {
  /** null lifts it. Saying the same again leaves no trace. Refused while it is running or when it is finished. */
  setGuard(task: string, guard: Task["guard"], options: { by: string }): Promise<Task>;
}

interface GuardColumns {
  guard_reason: string | null;
  guard_until: number | null;
}

const SET = statement<GuardColumns & { id: string }>((build, hole) =>
  build
    .updateTable("tasks")
    .set({ guard_reason: hole("guard_reason"), guard_until: hole("guard_until") })
    .where("id", "=", hole("id")),
);

export function guardOperations({ database, clock }: StoreContext): GuardOperations {
  return {
    async setGuard(id, guard, { by }) {
      const actor = checkLine("by", by);
      const columns = columnsOf(guard);
      return await database.write(async (session) => {
        const task = await standingOf(session, id);
        if (task.guard_reason === columns.guard_reason && task.guard_until === columns.guard_until) return toTask(task);
        if (["running", "done", "archived"].includes(task.status)) throw refusal(task, "guard", `it is ${task.status}`);
        await write(session, task, { columns, actor, at: clock.now() });
        return toTask({ ...task, ...columns });
      });
    },
  };
}

function columnsOf(guard: Task["guard"]): GuardColumns {
  if (guard === null) return { guard_reason: null, guard_until: null };
  return { guard_reason: checkLine("reason", guard.reason), guard_until: checkWhole("until", guard.until) };
}

interface GuardChange {
  readonly columns: GuardColumns;
  readonly actor: string;
  readonly at: number;
}

async function write(session: Session, { id, board, guard_reason: before }: Standing, { columns, actor, at }: GuardChange): Promise<void> {
  session.defer(SET, { id, ...columns });
  const { guard_reason: reason, guard_until: until } = columns;
  const [kind, payload] = reason === null ? (["guard_lifted", { reason: before }] as const) : (["guarded", { reason, until }] as const);
  await addEvent(session, { board, task: id, kind, actor, at, payload });
}
