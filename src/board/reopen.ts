/** @module A task that was not finished after all. */
import { statement } from "./database.ts";
import { holdBack } from "./links.ts";
import { lockChildren } from "./locks.ts";
import { moverOf, moveTask, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { FREE, type Task, toTask } from "./task.ts";
import { checkText } from "./task-input.ts";

export interface ReopenOperations {
  /**
   * Done or archived, it can be taken again, by whoever did the work. Its children wait for it again, but for those that are running or
   * finished. A next one that it has left behind stays the only one.
   */
  reopen(task: string, options: { by: string; reason?: string | undefined }): Promise<Task>;
}

const FREE_CHILDREN = statement<{ parent: string }, { id: string }>((build, hole) =>
  build
    .selectFrom("links")
    .innerJoin("tasks", "tasks.id", "links.child")
    .select("tasks.id")
    .where("links.parent", "=", hole("parent"))
    .where("tasks.status", "in", ["ready", "review"])
    .orderBy("tasks.id"),
);

export function reopenOperations({ database, clock }: StoreContext): ReopenOperations {
  return {
    reopen: (id, { reason, ...actor }) =>
      database.write(async (session) => {
        const task = await standingOf(session, id);
        const at = clock.now();
        const owner = { assignee: task.implementer ?? task.assignee, implementer: null };
        const moved = await moveTask(session, task, {
          action: "reopen",
          mover: await moverOf(session, task, actor),
          kind: "reopened",
          at,
          changes: { ...FREE, ...owner, last_error: null, completed_at: null },
          payload: reason === undefined ? {} : { reason: checkText("reason", reason) },
        });
        await lockChildren(session, id);
        for (const child of await session.all(FREE_CHILDREN, { parent: id })) await holdBack(session, child.id, at);
        return toTask(moved);
      }),
  };
}
