/** @module Many new tasks in one transaction, which may wait for one another. */
import { HoldfastError } from "../base/errors.ts";
import { type Author, authorOf, checkReach, type KnownAuthor } from "./author.ts";
import { liveBoard } from "./boards.ts";
import { BY_KEY, type CreatedTask, type Draft, draftOf, type MadeTask, makeTask, type NewTask } from "./create-task.ts";
import { first, type Session } from "./database.ts";
import { lockLinks } from "./locks.ts";
import { orderOf } from "./order.ts";
import { checkCron } from "./repeat.ts";
import type { StoreContext } from "./store-context.ts";
import { toTask } from "./task.ts";

export interface PlannedTask extends NewTask {
  /** Entries of the same list that must be finished before, by index; also ones that stand further down. */
  readonly after?: readonly number[] | undefined;
}

export interface PlanOperations {
  /**
   * All of them or none, in the order of the list. When keys are known, all must be: then the list was made before, and is given again.
   * @throws `link-refused` for a cycle or an index that is not one, and what `createTask` throws
   */
  createTasks(tasks: readonly PlannedTask[], author: Author): Promise<CreatedTask[]>;
}

/** A list that was checked as far as that goes without the database. */
export interface Plan {
  readonly drafts: readonly Draft[];
  /** What each entry waits for. */
  readonly after: readonly (readonly number[])[];
  /** Those that others wait for come first. */
  readonly order: readonly number[];
}

export function planOperations({ database, clock }: StoreContext): PlanOperations {
  return {
    async createTasks(tasks, author) {
      const plan = await planOf(tasks, clock.now());
      return await database.write(async (session) => {
        const made = await makePlan(session, plan, { author: await authorOf(session, author), at: clock.now() });
        return made.map(({ row, created }) => ({ task: toTask(row), created }));
      });
    },
  };
}

export async function planOf(tasks: readonly PlannedTask[], now: number): Promise<Plan> {
  const drafts = tasks.map(draftOf);
  for (const { repeat } of tasks) await checkCron(repeat, now);
  const keys = drafts.flatMap(({ columns }) => columns.idempotency_key ?? []);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw badKeys(`the key ${JSON.stringify(twice)} is there twice`);
  const after = tasks.map((task, index) => checkAfter(task.after ?? [], { index, count: tasks.length }));
  const found = orderOf(after);
  if ("cycle" in found) throw badOrder(`entry ${found.cycle} would wait for itself through others`);
  return { drafts, after, order: found.order };
}

export async function makePlan(
  session: Session,
  { drafts, after, order }: Plan,
  options: { readonly author: KnownAuthor; readonly at: number },
): Promise<MadeTask[]> {
  const known = await knownTasks(session, drafts, options.author);
  if (known !== undefined) return known;
  const made: MadeTask[] = [];
  for (const index of order) {
    const draft = drafts[index] as Draft;
    const above = (after[index] ?? []).map((each) => made[each]?.row.id ?? "");
    const task = await makeTask(session, { ...draft, parents: [...new Set([...draft.parents, ...above])] }, options);
    if (!task.created) throw badKeys(`${task.row.id} was made by somebody else at the same time`);
    made[index] = task;
  }
  return made;
}

/** Those of an earlier time, or undefined when there is none. */
async function knownTasks(session: Session, drafts: readonly Draft[], author: KnownAuthor): Promise<MadeTask[] | undefined> {
  const found: MadeTask[] = [];
  for (const { wanted, columns } of drafts) {
    const key = columns.idempotency_key;
    if (key === null) continue;
    const board = await liveBoard(session, wanted);
    checkReach(author, board);
    // Whoever makes the same list at the same time is waited for, so that either none of its tasks are seen or all.
    await lockLinks(session, board);
    const row = await first(session.all(BY_KEY, { board, key }));
    if (row !== undefined) found.push({ row, created: false });
  }
  if (found.length === 0) return undefined;
  if (found.length === drafts.length) return found;
  throw badKeys(`${found[0]?.row.id} was made before, and others of the list were not`);
}

function checkAfter(after: readonly number[], { index, count }: { index: number; count: number }): number[] {
  for (const each of after) {
    if (each === index) throw badOrder(`entry ${index} cannot wait for itself`);
    if (!Number.isInteger(each) || each < 0 || each >= count)
      throw badOrder(`entry ${index} waits for ${each}, and there is no such entry`);
  }
  return [...new Set(after)];
}

function badOrder(reason: string): HoldfastError {
  return new HoldfastError("link-refused", `the tasks cannot be made: ${reason}`, { facts: { reason } });
}

function badKeys(reason: string): HoldfastError {
  return new HoldfastError("invalid-input", `the tasks cannot be made: ${reason}`, {
    hint: "give each task of the list a key that only this list uses, or none",
    facts: { field: "idempotencyKey", reason },
  });
}
