/** @module How a board is doing, in numbers. */

import { sql } from "kysely";
import { knownBoard } from "./boards.ts";
import type { Session } from "./database.ts";
import { statement } from "./database.ts";
import type { Usage } from "./read-tasks.ts";
import { OUTCOMES, type Outcome } from "./schema.ts";
import type { StoreContext } from "./store-context.ts";
import { STATUSES, type Status, UNFINISHED } from "./transitions.ts";

export interface BoardStats {
  /** Every status has a number. */
  readonly counts: Readonly<Record<Status, number>>;
  /** By name, those of nobody (null) last. Only statuses that somebody has tasks in. */
  readonly assignees: readonly { readonly assignee: string | null; readonly counts: Readonly<Partial<Record<Status, number>>> }[];
  /** How long ago the oldest one that is ready was made. */
  readonly oldestReadyMs: number | null;
  /** How runs ended; `open` are those that have not. */
  readonly runs: Readonly<Record<Outcome | "open", number>>;
  readonly usage: Usage;
}

export interface StatsOperations {
  /** @throws `board-not-found` */
  stats(board: string): Promise<BoardStats>;
}

/** Finished tasks are by far the most, and have an index of their own, which is found by these words. */
const finished = sql<boolean>`status in ('done', 'archived')`;
const unfinished = sql<boolean>`status in (${sql.join(UNFINISHED.map(sql.lit))})`;
const TASKS = [finished, unfinished].map((condition) =>
  statement<{ board: string }, { status: Status; assignee: string | null; count: number }>((build, hole) =>
    build
      .selectFrom("tasks")
      .select(({ fn }) => ["status", "assignee", fn.countAll<number>().as("count")])
      .where("board", "=", hole("board"))
      .where(condition)
      .groupBy(["status", "assignee"]),
  ),
);

const OLDEST_READY = statement<{ board: string }, { time: number | null }>((build, hole) =>
  build
    .selectFrom("tasks")
    .select(({ fn }) => fn.min("created_at").as("time"))
    .where("board", "=", hole("board"))
    .where("status", "=", "ready"),
);

interface RunSums {
  outcome: Outcome;
  count: number;
  cost: number | string | null;
  tokens: number | string | null;
}

const RUNS = statement<{ board: string }, RunSums>((build, hole) =>
  build
    .selectFrom("runs")
    .select(({ fn }) => [
      "outcome",
      fn.countAll<number>().as("count"),
      fn.sum<number | string | null>("cost").as("cost"),
      fn.sum<number | string | null>("tokens").as("tokens"),
    ])
    .where("board", "=", hole("board"))
    .where("outcome", "is not", null)
    .groupBy("outcome"),
);

/** There are few open runs on all boards, and any number of others on this one. */
const OPEN_RUNS = statement<{ board: string }, { count: number }>((build, hole) =>
  build
    .selectFrom("runs")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where(sql<string>`board || ''`, "=", hole("board"))
    .where("ended_at", "is", null),
);

export function statsOperations({ database, clock }: StoreContext): StatsOperations {
  return {
    stats: (wanted) =>
      database.read(async (session) => {
        const board = await knownBoard(session, wanted);
        const [oldest] = await session.all(OLDEST_READY, { board });
        const time = oldest?.time ?? null;
        return {
          ...(await taskStats(session, board)),
          oldestReadyMs: time === null ? null : clock.now() - time,
          ...(await runStats(session, board)),
        };
      }),
  };
}

async function taskStats(session: Session, board: string): Promise<Pick<BoardStats, "counts" | "assignees">> {
  const counts = Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<Status, number>;
  const assignees = new Map<string | null, Partial<Record<Status, number>>>();
  for (const statement of TASKS) {
    for (const { status, assignee, count } of await session.all(statement, { board })) {
      counts[status] += count;
      assignees.set(assignee, { ...assignees.get(assignee), [status]: count });
    }
  }
  const sorted = [...assignees].sort(([one], [two]) => Number(one === null) - Number(two === null) || ((one ?? "") < (two ?? "") ? -1 : 1));
  return { counts, assignees: sorted.map(([assignee, each]) => ({ assignee, counts: each })) };
}

async function runStats(session: Session, board: string): Promise<Pick<BoardStats, "runs" | "usage">> {
  const runs = Object.fromEntries([...OUTCOMES, "open" as const].map((outcome) => [outcome, 0])) as Record<Outcome | "open", number>;
  const usage = { runs: 0, cost: 0, tokens: 0 };
  for (const { outcome, count, cost, tokens } of await session.all(RUNS, { board })) {
    runs[outcome] = count;
    usage.runs += count;
    usage.cost += Number(cost ?? 0);
    usage.tokens += Number(tokens ?? 0);
  }
  const [open] = await session.all(OPEN_RUNS, { board });
  runs.open = open?.count ?? 0;
  usage.runs += runs.open;
  return { runs, usage };
}
