/** @module Which tasks are to be planned: one that was named, or all that wait in triage. */
import { describeError, HoldfastError } from "../../base/errors.ts";
import type { Task } from "../../board/task.ts";
import type { App } from "../create-app.ts";
import { refuseUnlessTriage } from "./decompose.ts";

export interface Chosen {
  readonly id?: string | undefined;
  readonly all?: boolean | undefined;
  readonly board?: string | undefined;
}

/** @throws `invalid-input` unless it is one or all */
export async function chosenTasks(app: App, { id, all = false, board }: Chosen): Promise<Task[]> {
  if ((id === undefined) === !all) {
    throw new HoldfastError("invalid-input", "name one task, or ask for all of them", {
      hint: "give the id of a task in triage, or --all",
    });
  }
  const kanban = await app.kanban();
  if (id === undefined) return await kanban.store.listTasks({ board: (await kanban.existingBoard(board)).slug, status: "triage" });
  const task = await kanban.store.getTask(id);
  if (board !== undefined && task.board !== kanban.board(board)) {
    throw new HoldfastError("task-not-found", `${task.id} is on the board ${task.board}, not on ${kanban.board(board)}`, {
      hint: "leave out --board",
      facts: { task: task.id, board: task.board },
    });
  }
  refuseUnlessTriage(task);
  return [task];
}

/** One that fails does not keep the others from their turn; one alone fails as such. */
export async function forEachTask<Result extends object>(
  tasks: readonly Task[],
  { all, work }: { all: boolean; work: (task: Task) => Promise<Result> },
): Promise<(Result | { task: string; error: string })[]> {
  const results: (Result | { task: string; error: string })[] = [];
  for (const task of tasks) {
    try {
      results.push(await work(task));
    } catch (error) {
      if (!all) throw error;
      results.push({ task: task.id, error: describeError(error) });
    }
  }
  return results;
}
