/** @module What people decide about a task: its fields and who works on it. */
import { HoldfastError } from "../base/errors.ts";
import { statement } from "./database.ts";
import { addEvent } from "./events.ts";
import { refusal } from "./refusal.ts";
import { checkCron } from "./repeat.ts";
import { standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { type Task, toTask } from "./task.ts";
import { changedColumns, checkAssignee, checkLine, type TaskFields } from "./task-input.ts";

export interface AssignOptions {
  readonly by: string;
  /** Why, when it was not a person's wish: the key of the configuration. */
  readonly source?: string | undefined;
  /** Does nothing when somebody else was quicker (K14). */
  readonly ifUnassigned?: boolean | undefined;
}

export interface EditOperations {
  /** Only the fields that are given. */
  editTask(id: string, fields: Partial<TaskFields>, options: { by: string }): Promise<Task>;
  /** Refused while it is running. Another assignee begins without the failures of the one before. */
  assign(id: string, assignee: string | null, options: AssignOptions): Promise<Task>;
}

const ASSIGN = statement<{ id: string; assignee: string | null; failures: number; violations: number }>((build, hole) =>
  build
    .updateTable("tasks")
    .set({ assignee: hole("assignee"), failures: hole("failures"), violations: hole("violations") })
    .where("id", "=", hole("id")),
);

export function editOperations({ database, clock }: StoreContext): EditOperations {
  return {
    async editTask(id, fields, { by }) {
      const given = changedColumns(fields);
      await checkCron(fields.repeat, clock.now());
      return await database.write(async (session) => {
        const task = await standingOf(session, id);
        const changed = Object.keys(given).filter((column) => given[column as keyof typeof given] !== task[column as keyof typeof task]);
        if (changed.length === 0) return toTask(task);
        if (task.status === "archived") throw refusal(task, "edit", "it is archived");
        const columns = {
          ...given,
          // Another deadline can be missed again.
          ...(changed.includes("deadline") && { overdue_at: null }),
          ...(given.repeat && { series: task.series ?? id }),
        };
        await session.change(session.build.updateTable("tasks").set(columns).where("id", "=", id).compile());
        const event = { board: task.board, task: id, kind: "edited", actor: checkLine("by", by), at: clock.now() } as const;
        await addEvent(session, { ...event, payload: { fields: changed } });
        // A dispatcher sleeps until the next time that it knows of.
        if (changed.includes("deadline")) session.announce();
        return toTask({ ...task, ...columns });
      });
    },
    async assign(id, wanted, { by, source, ifUnassigned = false }) {
      const assignee = checkAssignee(wanted);
      return await database.write(async (session) => {
        const task = await standingOf(session, id);
        if (task.assignee === assignee || (ifUnassigned && task.assignee !== null)) return toTask(task);
        if (task.status === "running") throw refusal(task, "assign", { reason: "it is running", hint: assignHint(id, assignee) });
        if (task.status === "archived") throw refusal(task, "assign", "it is archived");
        const state = { assignee, failures: 0, violations: 0 };
        if ((await session.run(ASSIGN, { id, ...state })) !== 1) throw new HoldfastError("internal", `${id} is gone`);
        const payload = { assignee, ...(source !== undefined && { source }) };
        await addEvent(session, { board: task.board, task: id, kind: "assigned", actor: checkLine("by", by), at: clock.now(), payload });
        return toTask({ ...task, ...state });
      });
    },
  };
}

function assignHint(id: string, assignee: string | null): string {
  return `\`holdfast kanban reassign ${id} ${assignee ?? "none"} --reclaim\` takes it from its worker first`;
}
