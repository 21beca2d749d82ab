/**
 * @module The store of the board: every operation is one transaction, changes a status only against the one it was, and leaves its events.
 * What it needs is loaded when a store is opened, since most commands need none of it.
 */
import { type Clock, systemClock } from "../base/clock.ts";
import type { BoardOperations } from "./boards.ts";
import type { ClaimOperations } from "./claims.ts";
import type { CreateOperations } from "./create-task.ts";
import type { PlanOperations } from "./create-tasks.ts";
import type { DeadlineOperations } from "./deadlines.ts";
import type { EditOperations } from "./edit-task.ts";
import type { EndOperations } from "./end-task.ts";
import type { EventOperations } from "./events.ts";
import type { ExportOperations } from "./export-board.ts";
import type { GuardOperations } from "./guards.ts";
import type { ImportOperations } from "./import-board.ts";
import type { LeaderOperations } from "./leaders.ts";
import type { LinkOperations } from "./links.ts";
import type { MoveOperations } from "./move-task.ts";
import type { NoteOperations } from "./notes.ts";
import type { Patience } from "./patience.ts";
import type { ReadOperations } from "./read-tasks.ts";
import type { ReleaseOperations } from "./release.ts";
import type { RemovalOperations } from "./removal.ts";
import type { RenameOperations } from "./rename-profile.ts";
import type { ReopenOperations } from "./reopen.ts";
import type { SandboxPlaceOperations } from "./sandbox-places.ts";
import type { StatsOperations } from "./stats.ts";
import type { TriageOperations } from "./triage.ts";
import type { UpkeepOperations } from "./upkeep.ts";
import type { WaitingOperations } from "./waiting.ts";
import type { WatchOperations } from "./watch.ts";
import type { WorkerExitOperations } from "./worker-exit.ts";

const BUSY_LIMIT_MS = 10_000;

export interface Store
  extends AsyncDisposable,
    BoardOperations,
    CreateOperations,
    ReadOperations,
    EditOperations,
    RenameOperations,
    LinkOperations,
    NoteOperations,
    ClaimOperations,
    ReleaseOperations,
    EndOperations,
    MoveOperations,
    EventOperations,
    WatchOperations,
    WaitingOperations,
    GuardOperations,
    WorkerExitOperations,
    LeaderOperations,
    UpkeepOperations,
    PlanOperations,
    TriageOperations,
    DeadlineOperations,
    ReopenOperations,
    RemovalOperations,
    SandboxPlaceOperations,
    StatsOperations,
    ExportOperations,
    ImportOperations {
  /** For people, without a password. */
  readonly location: string;
}

export interface StoreOptions {
  readonly clock?: Clock;
  /** How long to wait for other processes that write to the same file. @default 10000 */
  readonly busyLimitMs?: number;
  /** What is asked waits while the database is away. Without it, it fails at once. */
  readonly patience?: Patience | undefined;
}

/**
 * `location` is the path of a file of SQLite, `:memory:`, or the URL of a PostgreSQL database. The tables are made or brought up to date.
 * @throws `board-too-new`, `board-damaged`, `board-unavailable`
 */
export async function openStore(
  location: string,
  { clock = systemClock, busyLimitMs = BUSY_LIMIT_MS, patience }: StoreOptions = {},
): Promise<Store> {
  const { openEngine } = await import("./engine.ts");
  return await openEngine(location, { clock, busyLimitMs, patience });
}
