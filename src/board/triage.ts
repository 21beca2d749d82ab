/** @module Out of triage: an idea becomes a task that says what to do, or many tasks that come before it (K35). */
import { HoldfastError } from "../base/errors.ts";
import { makePlan, type PlannedTask, planOf } from "./create-tasks.ts";
import { first, type Session, statement } from "./database.ts";
import { addLink } from "./links.ts";
import { lockLinks } from "./locks.ts";
import { refusal } from "./refusal.ts";
import { moverOf, moveTask, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { noTask, type Task, toTask } from "./task.ts";
import { changedColumns, checkAssignee } from "./task-input.ts";

export interface Decomposition {
  /** What is to be done before the root is. They are made on its board. */
  readonly tasks: readonly Omit<PlannedTask, "board">[];
  /** Who judges the whole when all of them are finished: the root's assignee from then on. */
  readonly assignee?: string | undefined;
  /** False leaves them in triage, for somebody to look at first. @default true */
  readonly promote?: boolean | undefined;
}

export interface Decomposed {
  readonly root: Task;
  /** In the order of the list. */
  readonly children: readonly Task[];
}

export interface TriageOperations {
  /** Once for each task, and only in triage. The root waits for every child. @throws `move-refused`, `link-refused` */
  decompose(root: string, plan: Decomposition, options: { by: string }): Promise<Decomposed>;
  /** A better text for an idea, which is a task from then on. */
  specify(task: string, text: { title?: string | undefined; body: string }, options: { by: string }): Promise<Task>;
}

const BOARD_OF = statement<{ id: string }, { board: string }>((build, hole) =>
  build.selectFrom("tasks").select("board").where("id", "=", hole("id")),
);

const SET_DECOMPOSED = statement<{ id: string; at: number }>((build, hole) =>
  build
    .updateTable("tasks")
    .set({ decomposed_at: hole("at") })
    .where("id", "=", hole("id")),
);

export function triageOperations({ database, clock }: StoreContext): TriageOperations {
  return {
    async decompose(id, { tasks, assignee, promote = true }, actor) {
      if (tasks.length === 0) throw new HoldfastError("invalid-input", "tasks must not be empty", { facts: { field: "tasks" } });
      const reviewer = assignee === undefined ? undefined : checkAssignee(assignee);
      const entries = tasks.map((task) => ({ ...task, initial: task.initial ?? (promote ? undefined : ("triage" as const)) }));
      const plan = await planOf(entries, clock.now());
      return await database.write(async (session) => {
        const at = clock.now();
        const board = await lockBoardOf(session, id);
        const task = await standingOf(session, id);
        const mover = await moverOf(session, task, actor);
        if (task.decomposed_at !== null) throw refusal(task, "decompose", "it was decomposed before");
        if (task.status !== "triage") throw refusal(task, "decompose", `it is ${task.status}, and decompose is for tasks that are triage`);
        // The parts come from where the idea comes from.
        const author = { name: mover.name, run: null, board: null, isolated: task.from_sandbox === 1 };
        const drafts = plan.drafts.map((draft) => ({ ...draft, wanted: board }));
        const made = await makePlan(session, { ...plan, drafts }, { author, at });
        const children = made.map(({ row }) => row.id);
        for (const child of children) await addLink(session, child, id);
        await session.run(SET_DECOMPOSED, { id, at });
        const root = await moveTask(session, await standingOf(session, id), {
          action: "decompose",
          mover,
          kind: "decomposed",
          at,
          changes: reviewer === undefined ? {} : { assignee: reviewer },
          payload: { children },
        });
        return { root: toTask(root), children: made.map(({ row }) => toTask(row)) };
      });
    },
    async specify(id, { title, body }, actor) {
      const columns = changedColumns({ ...(title !== undefined && { title }), body });
      return await database.write(async (session) => {
        const task = await standingOf(session, id);
        const mover = await moverOf(session, task, actor);
        const payload = { oldTitle: task.title };
        const moved = await moveTask(session, task, { action: "specify", mover, kind: "specified", at: clock.now(), payload });
        await session.change(session.build.updateTable("tasks").set(columns).where("id", "=", id).compile());
        return toTask({ ...moved, ...columns });
      });
    },
  };
}

/** Before the task itself, as everywhere. */
async function lockBoardOf(session: Session, id: string): Promise<string> {
  const found = await first(session.all(BOARD_OF, { id }));
  if (found === undefined) throw noTask(id);
  await lockLinks(session, found.board);
  return found.board;
}
