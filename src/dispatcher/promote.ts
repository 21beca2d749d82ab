/**
 * @module What the clock brings: tasks whose time has come, and deadlines that were missed. Children of finished tasks go on by themselves,
 * in the transaction that finished the last parent.
 */
import type { Store } from "../board/store.ts";
import type { Task } from "../board/task.ts";
import { UNFINISHED } from "../board/transitions.ts";
import type { DispatchResult } from "./result.ts";

export async function promote(
  store: Pick<Store, "nextTime" | "wakeDue" | "markOverdue">,
  now: number,
  { board, result }: { board: string; result: Pick<DispatchResult, "promoted" | "deadline_missed"> },
): Promise<void> {
  for (;;) {
    // A transaction that finds nothing would still write, and wake whoever watches the file.
    const next = await store.nextTime(board);
    if (next === null || next > now) return;
    const [woken, missed] = [await store.wakeDue(now, { board }), await store.markOverdue(now, { board })];
    result.promoted.push(...woken);
    result.deadline_missed.push(...missed);
    if (woken.length + missed.length === 0) return;
  }
}

/** What `promote` would find on a board. */
export async function whatIsDue(store: Pick<Store, "listTasks">, board: string, now: number): Promise<{ due: Task[]; late: Task[] }> {
  const tasks = await store.listTasks({ board, status: UNFINISHED });
  return {
    due: tasks
      .filter(({ scheduledFor }) => scheduledFor !== null && scheduledFor <= now)
      .toSorted((a, b) => (a.scheduledFor ?? 0) - (b.scheduledFor ?? 0) || a.seq - b.seq),
    late: tasks
      .filter(({ deadline, overdueAt }) => deadline !== null && deadline <= now && overdueAt === null)
      .toSorted((a, b) => (a.deadline ?? 0) - (b.deadline ?? 0) || a.seq - b.seq),
  };
}
