/** @module Puts the operations of the store together, over a database that is brought up to date first. */
import { boardOperations, ensureDefaultBoard } from "./boards.ts";
import { claimOperations } from "./claims.ts";
import { createOperations } from "./create-task.ts";
import { planOperations } from "./create-tasks.ts";
import type { Session } from "./database.ts";
import { deadlineOperations } from "./deadlines.ts";
import { editOperations } from "./edit-task.ts";
import { endOperations } from "./end-task.ts";
import { eventOperations } from "./events.ts";
import { exportOperations } from "./export-board.ts";
import { guardOperations } from "./guards.ts";
import { importOperations } from "./import-board.ts";
import { leaderOperations } from "./leaders.ts";
import { linkOperations } from "./links.ts";
import { lockMigrations } from "./locks.ts";
import { migrate } from "./migrations.ts";
import { moveOperations } from "./move-task.ts";
import { noteOperations } from "./notes.ts";
import { readOperations } from "./read-tasks.ts";
import { releaseOperations } from "./release.ts";
import { removalOperations } from "./removal.ts";
import { renameOperations } from "./rename-profile.ts";
import { reopenOperations } from "./reopen.ts";
import { sandboxPlaceOperations } from "./sandbox-places.ts";
import { statsOperations } from "./stats.ts";
import type { Store } from "./store.ts";
import type { StoreContext } from "./store-context.ts";
import { triageOperations } from "./triage.ts";
import { upkeepOperations } from "./upkeep.ts";
import { waitingOperations } from "./waiting.ts";
import { watchOperations } from "./watch.ts";
import { workerExitOperations } from "./worker-exit.ts";

export async function storeOver(context: StoreContext): Promise<Store> {
  const { database, clock } = context;
  const prepare = async (session: Session) => {
    await lockMigrations(session);
    await migrate(session, database.location);
    await ensureDefaultBoard(session, clock.now());
  };
  await database.write(prepare, { repeatable: true });
  const watching = watchOperations(context);
  return {
    location: database.location,
    ...boardOperations(context),
    ...createOperations(context),
    ...readOperations(context),
    ...editOperations(context),
    ...renameOperations(context),
    ...linkOperations(context),
    ...noteOperations(context),
    ...claimOperations(context),
    ...releaseOperations(context),
    ...endOperations(context),
    ...moveOperations(context),
    ...eventOperations(context),
    watch: watching.watch,
    ...waitingOperations(context),
    ...guardOperations(context),
    ...workerExitOperations(context),
    ...leaderOperations(context),
    ...upkeepOperations(context),
    async [Symbol.asyncDispose]() {
      await watching.stop();
      await database[Symbol.asyncDispose]();
    },
    ...planOperations(context),
    ...triageOperations(context),
    ...deadlineOperations(context),
    ...reopenOperations(context),
    ...removalOperations(context),
    ...sandboxPlaceOperations(context),
    ...statsOperations(context),
    ...exportOperations(context),
    ...importOperations(context),
  };
}
