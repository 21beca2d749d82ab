/** @module What happens by the clock: deadlines that pass, and when the next thing is due (K10). */
import { type RawBuilder, sql } from "kysely";
import { statement } from "./database.ts";
import { addEvent, BOARD } from "./events.ts";
import { moveTask, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { checkWhole } from "./task-input.ts";
import { isFinished, nextStatus } from "./transitions.ts";

export interface DeadlineOperations {
  /**
   * Notes each missed deadline once, oldest first, and says of which tasks. Those that wait for somebody to take them are blocked; the others
   * only get the event. Another deadline can be missed again. `limit` keeps the transaction short.
   */
  markOverdue(now: number, options?: { limit?: number; board?: string }): Promise<string[]>;
  /**
   * When something happens next without anybody doing anything: a scheduled task wakes, a deadline passes, a guard ends. It is in the past
   * while `wakeDue` or `markOverdue` have something to do. Null when there is nothing.
   */
  nextTime(board?: string): Promise<number | null>;
}

const OVERDUE_LIMIT = 500;

/** In the words of the index, or the database would not use it. */
const pending = sql<boolean>`deadline is not null and overdue_at is null and status not in ('done', 'archived')`;

const OVERDUE = { all: overdueStatement(false), board: overdueStatement(true) } as const;

function overdueStatement(ofBoard: boolean) {
  return statement<{ now: number; limit: number; board: string }, { id: string }>((build, hole) => {
    const query = build
      .selectFrom("tasks")
      .select("id")
      .where(pending)
      .where("deadline", "<=", hole("now"))
      .orderBy("deadline")
      .orderBy("seq")
      .limit(hole("limit"));
    return ofBoard ? query.where(sql<string>`board || ''`, "=", hole("board")) : query;
  });
}

const SET_OVERDUE = statement<{ id: string; at: number }>((build, hole) =>
  build
    .updateTable("tasks")
    .set({ overdue_at: hole("at") })
    .where("id", "=", hole("id")),
);

interface Moment {
  board: string;
  now: number;
}

const NEXT_TIME = { all: nextStatement(false), board: nextStatement(true) } as const;

/** A guard that has ended changes nothing by itself any more, so only those to come count. */
function nextStatement(ofBoard: boolean) {
  return statement<Moment, { time: number | null }>((build, hole) => {
    const earliest = (column: "scheduled_for" | "deadline" | "guard_until", condition: RawBuilder<boolean>) => {
      const query = build.selectFrom("tasks").select(column).where(condition).orderBy(column).limit(sql.lit(1));
      // Of all boards few tasks wait for a time, so that is what the database shall look for first, and not for the board.
      return ofBoard ? query.where(sql<string>`board || ''`, "=", hole("board")) : query;
    };
    const times = [
      earliest("scheduled_for", sql`scheduled_for is not null`),
      earliest("deadline", pending),
      earliest("guard_until", sql`guard_until is not null and guard_until > ${hole("now")} and status in ('ready', 'review')`),
    ];
    return build
      .selectFrom(
        sql<{ time: number | null }>`(${sql.join(
          times.map((time) => sql`select (${time}) as time`),
          sql` union all `,
        )})`.as("times"),
      )
      .select(({ fn }) => fn.min("time").as("time"));
  });
}

export function deadlineOperations({ database, clock }: StoreContext): DeadlineOperations {
  return {
    markOverdue: (now, { limit = OVERDUE_LIMIT, board: ofBoard } = {}) =>
      database.write(async (session) => {
        const missed: string[] = [];
        const at = clock.now();
        const due = ofBoard === undefined ? OVERDUE.all : OVERDUE.board;
        for (const { id } of await session.all(due, { now: checkWhole("now", now), limit, board: ofBoard ?? "" })) {
          const task = await standingOf(session, id);
          const { board, deadline, status, phase } = task;
          // Somebody else was quicker, or it is finished or has another deadline since.
          if (deadline === null || deadline > now || task.overdue_at !== null || isFinished(status)) continue;
          const facts = { by: "board", parentsDone: task.waiting === 0, phase } as const;
          if ("to" in nextStatus(status, "expire", facts)) {
            const reason = `its deadline was ${new Date(deadline).toISOString()}`;
            await moveTask(session, task, {
              action: "expire",
              mover: { kind: "board", name: BOARD },
              kind: "deadline_missed",
              at,
              changes: { block_kind: "deadline", block_reason: reason, blocked_by: BOARD },
              payload: { deadline },
            });
          } else {
            await addEvent(session, {
              board,
              task: id,
              run: task.run_id,
              kind: "deadline_missed",
              actor: BOARD,
              at,
              payload: { deadline },
            });
          }
          await session.run(SET_OVERDUE, { id, at });
          missed.push(id);
        }
        return missed;
      }),
    async nextTime(board) {
      const [row] = await database.read((session) =>
        session.all(board === undefined ? NEXT_TIME.all : NEXT_TIME.board, { board: board ?? "", now: clock.now() }),
      );
      return row?.time ?? null;
    },
  };
}
