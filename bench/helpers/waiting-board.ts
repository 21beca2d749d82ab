/** @module A board of which nearly all is finished and the rest waits: half of it for nobody, half for a place that is taken. */
import type { Store } from "../../src/board/store.ts";
import { BOARD, type KanbanHome, openKanbanHome, PROFILE } from "./kanban-home.ts";

const BY = { by: "bench" };
const CHUNK = 100;

/** One run is all that may be in progress, and a person has it. */
export async function openWaitingBoard(waiting: number): Promise<KanbanHome> {
  const home = await openKanbanHome({ kanban: { max_in_progress: 1 } });
  const { task } = await home.store.createTask({ title: "taken", board: BOARD, assignee: PROFILE, priority: 9 }, BY);
  await home.store.claim(task.id, BY);
  await addWaiting(home.store, waiting);
  return home;
}

async function addWaiting(store: Store, count: number): Promise<void> {
  for (let made = 0; made < count; made += CHUNK) {
    const tasks = Array.from({ length: Math.min(CHUNK, count - made) }, (_, index) => ({
      title: `task ${made + index}`,
      body: "what is to be done",
      board: BOARD,
      priority: index % 3,
      ...(index % 2 === 0 && { assignee: PROFILE }),
    }));
    await store.createTasks(tasks, BY);
  }
}
