/** @module The next one of a task that repeats, made in the transaction in which it is done (K10). */
import { HoldfastError } from "../base/errors.ts";
import { insertTask } from "./create-task.ts";
import { first, type Session, statement } from "./database.ts";
import { addEvent, BOARD } from "./events.ts";
import { nextRepeat } from "./repeat.ts";
import { FRESH, type TaskRow } from "./task.ts";
import { nextStatus } from "./transitions.ts";

const LIVE_BOARD = statement<{ slug: string }, { slug: string }>((build, hole) =>
  build.selectFrom("boards").select("slug").where("slug", "=", hole("slug")).where("archived_at", "is", null),
);

const SET_SUCCESSOR = statement<{ id: string; successor: string }>((build, hole) =>
  build
    .updateTable("tasks")
    .set({ successor: hole("successor") })
    .where("id", "=", hole("id")),
);

/** Nothing for a task that does not repeat, or whose next one was made when it was done before. Its row is locked. */
export async function makeSuccessor(session: Session, task: TaskRow, at: number): Promise<void> {
  const { id, board, repeat, time_zone: timeZone } = task;
  if (repeat === null || task.successor !== null) return;
  // Nothing new is made on a board that is archived.
  if ((await first(session.all(LIVE_BOARD, { slug: board }))) === undefined) return;
  const time = nextRepeat(repeat, { timeZone, after: at });
  if (time === null) return;
  const verdict = nextStatus("new", "repeat", { by: "board", parentsDone: true, phase: "work" });
  if ("refused" in verdict) throw new HoldfastError("internal", `the next of ${id} cannot be made: ${verdict.refused}`);
  const { row } = await insertTask(session, {
    ...FRESH,
    ...repeatedFields(task),
    status: verdict.to,
    scheduled_for: time,
    created_at: at,
  });
  await session.run(SET_SUCCESSOR, { id, successor: row.id });
  task.successor = row.id;
  const event = { board, actor: BOARD, at } as const;
  await addEvent(session, { ...event, task: id, kind: "repeated", payload: { successor: row.id, scheduledFor: time } });
  const payload = { from: "new", to: verdict.to, until: time, repeats: id };
  await addEvent(session, { ...event, task: row.id, kind: "created", payload });
}

/** A deadline is a time of its own and a key is used once, so neither is repeated. */
function repeatedFields(task: TaskRow) {
  return {
    board: task.board,
    title: task.title,
    body: task.body,
    // Whoever reviewed it last has it now, and somebody else did the work.
    assignee: task.implementer ?? task.assignee,
    priority: task.priority,
    tenant: task.tenant,
    workspace: task.workspace,
    branch: task.branch,
    idempotency_key: null,
    max_runtime_ms: task.max_runtime_ms,
    max_retries: task.max_retries,
    skills: task.skills,
    model: task.model,
    deadline: null,
    overdue_at: null,
    repeat: task.repeat,
    time_zone: task.time_zone,
    series: task.series ?? task.id,
    successor: null,
    decomposed_at: null,
    from_sandbox: task.from_sandbox,
    created_by: task.created_by,
  };
}
