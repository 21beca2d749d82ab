/**
 * @module The store of the board: every operation is one transaction, changes a status only against the one it was, and leaves its events.
 * What it needs is loaded when a store is opened, since most commands need none of it.
 */
import { type Clock, systemClock } from "../base/clock.ts";
import type { BoardOperations } from "./boards.ts";
import type { ClaimOperations } from "./claims.ts";
import type { CreateOperations } from "./create-task.ts";
import type { Database } from "./database.ts";
import type { EditOperations } from "./edit-task.ts";
import type { EndOperations } from "./end-task.ts";
import type { EventOperations } from "./events.ts";
import type { LeaderOperations } from "./leaders.ts";
import type { LinkOperations } from "./links.ts";
import type { MoveOperations } from "./move-task.ts";
import type { NoteOperations } from "./notes.ts";
import type { ReadOperations } from "./read-tasks.ts";
import type { ReleaseOperations } from "./release.ts";
import type { UpkeepOperations } from "./upkeep.ts";

const BUSY_LIMIT_MS = 10_000;

export interface Store
  extends AsyncDisposable,
    BoardOperations,
    CreateOperations,
    ReadOperations,
    EditOperations,
    LinkOperations,
    NoteOperations,
    ClaimOperations,
    ReleaseOperations,
    EndOperations,
    MoveOperations,
    EventOperations,
    LeaderOperations,
    UpkeepOperations {
  /** For people, without a password. */
  readonly location: string;
}

export interface StoreOptions {
  readonly clock?: Clock;
  /** How long to wait for other processes that write to the same file. @default 10000 */
  readonly busyLimitMs?: number;
}

/**
 * `location` is the path of a file of SQLite, `:memory:`, or the URL of a PostgreSQL database. The tables are made or brought up to date.
 * @throws `board-too-new`, `board-damaged`, `board-unavailable`
 */
export async function openStore(location: string, { clock = systemClock, busyLimitMs = BUSY_LIMIT_MS }: StoreOptions = {}): Promise<Store> {
  const { storeOver } = await import("./store-operations.ts");
  const database = await openDatabase(location, busyLimitMs);
  try {
    return await storeOver({ database, clock });
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

async function openDatabase(location: string, busyLimitMs: number): Promise<Database> {
  if (/^postgres(ql)?:\/\//.test(location)) return await (await import("./postgres.ts")).openPostgres(location);
  return (await import("./sqlite.ts")).openSqlite(location, busyLimitMs);
}
