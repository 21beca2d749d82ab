/** @module The task that is meant. A worker need not name its own, and sees none of other boards (K5, K29). */
import { HoldfastError } from "../base/errors.ts";
import { noTask, type Task } from "../board/task.ts";
import type { Kanban } from "./kanban.ts";

export interface WantedTask {
  readonly id?: string | undefined;
  /** The board that it must be on, when one was named. */
  readonly board?: string | undefined;
}

/** @throws `invalid-input` when none is named outside of a worker */
function taskId({ worker }: Kanban, id: string | undefined): string {
  if (id !== undefined) return id.trim();
  if (worker !== null) return worker.task;
  throw new HoldfastError("invalid-input", "it needs the id of a task", {
    hint: "`holdfast kanban list` shows them; only a worker may leave out its own",
    facts: { field: "id", missing: true },
  });
}

/** @throws `task-not-found`, also for one on another board than the one that was named or that a worker sees */
export async function findTask(kanban: Kanban, { id, board }: WantedTask): Promise<Task> {
  const task = await kanban.store.getTask(taskId(kanban, id));
  const within = board === undefined ? kanban.worker?.board : kanban.board(board).trim().toLowerCase();
  if (within === undefined || task.board === within) return task;
  // A worker is not told about what is elsewhere.
  if (kanban.worker !== null) throw noTask(task.id);
  throw new HoldfastError("task-not-found", `${task.id} is on the board ${task.board}, not on ${within}`, {
    hint: "leave out --board",
    facts: { task: task.id, board: task.board },
  });
}
