/** @module Puts the operations of the store together, over a database that is brought up to date first. */
import { boardOperations, ensureDefaultBoard } from "./boards.ts";
import { claimOperations } from "./claims.ts";
import { createOperations } from "./create-task.ts";
import { editOperations } from "./edit-task.ts";
import { endOperations } from "./end-task.ts";
import { eventOperations } from "./events.ts";
import { leaderOperations } from "./leaders.ts";
import { linkOperations } from "./links.ts";
import { lockMigrations } from "./locks.ts";
import { migrate } from "./migrations.ts";
import { moveOperations } from "./move-task.ts";
import { noteOperations } from "./notes.ts";
import { readOperations } from "./read-tasks.ts";
import { releaseOperations } from "./release.ts";
import type { Store } from "./store.ts";
import type { StoreContext } from "./store-context.ts";
import { upkeepOperations } from "./upkeep.ts";

export async function storeOver(context: StoreContext): Promise<Store> {
  const { database, clock } = context;
  await database.write(async (session) => {
    await lockMigrations(session);
    await migrate(session, database.location);
    await ensureDefaultBoard(session, clock.now());
  });
  return {
    location: database.location,
    ...boardOperations(context),
    ...createOperations(context),
    ...readOperations(context),
    ...editOperations(context),
    ...linkOperations(context),
    ...noteOperations(context),
    ...claimOperations(context),
    ...releaseOperations(context),
    ...endOperations(context),
    ...moveOperations(context),
    ...eventOperations(context),
    ...leaderOperations(context),
    ...upkeepOperations(context),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
