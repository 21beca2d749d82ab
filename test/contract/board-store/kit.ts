/** @module What a case of the board's suite gets: a board of its own in a store that all cases of the suite share. */
import type { Claim } from "../../../src/board/claims.ts";
import type { NewTask } from "../../../src/board/create-task.ts";
import type { Store } from "../../../src/board/store.ts";
import type { Task } from "../../../src/board/task.ts";
import type { ManualClock } from "../../helpers/manual-clock.ts";

/** How the suite gets to a database. */
export interface BoardStoreHarness extends AsyncDisposable {
  /** A further connection to the same database, or undefined where there is none, as in memory. */
  readonly open: (() => Promise<Store>) | undefined;
  readonly store: Store;
  readonly clock: ManualClock;
  /** How long random histories are. */
  readonly histories: { readonly runs: number; readonly steps: number };
}

export interface Kit extends BoardStoreHarness {
  readonly board: string;
  create(fields?: Partial<NewTask>): Promise<Task>;
  /** Makes a task and takes it. */
  taken(fields?: Partial<NewTask>): Promise<Claim>;
  statusOf(task: { id: string }): Promise<string>;
}

export type Cases = Readonly<Record<string, (kit: Kit) => Promise<void>>>;

export const ME = { by: "me" } as const;

let count = 0;

export async function withKit(harness: BoardStoreHarness, work: (kit: Kit) => Promise<void>): Promise<void> {
  const { store } = harness;
  count += 1;
  const { slug: board } = await store.createBoard(`case-${count}`, ME);
  const create = async (fields: Partial<NewTask> = {}) => (await store.createTask({ title: "a task", board, ...fields }, ME)).task;
  await work({
    ...harness,
    board,
    create,
    taken: async (fields) => store.claim((await create(fields)).id, { by: "dispatcher" }),
    statusOf: async ({ id }) => (await store.getTask(id)).status,
  });
}

/** The same, on `count` further connections. */
export async function withStores(kit: Kit, number: number, work: (stores: readonly Store[]) => Promise<void>): Promise<void> {
  const { open } = kit;
  if (open === undefined) throw new Error("this database has one connection only");
  await using stack = new AsyncDisposableStack();
  const stores: Store[] = [];
  for (let index = 0; index < number; index += 1) stores.push(stack.use(await open()));
  await work(stores);
}
