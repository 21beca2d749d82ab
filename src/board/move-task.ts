/** @module Moves that end no run: promote, unblock, schedule, wake, archive. */
import { sql } from "kysely";
import { statement } from "./database.ts";
import { BOARD } from "./events.ts";
import { lockTask } from "./locks.ts";
import { idle, moverOf, moveTask, promoteChildren, standingOf, unfinishedParent } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { FREE, type Task, type TaskRow, toTask } from "./task.ts";
import { checkText, checkWhole } from "./task-input.ts";

interface By {
  readonly by: string;
}

export interface MoveOperations {
  /** Out of triage, or out of `todo`, which happens by itself when the last parent is finished. */
  promote(task: string, options: By): Promise<Task>;
  /** Also wakes a scheduled one. Its failures are forgotten. */
  unblock(task: string, options: By & { reason?: string | undefined }): Promise<Task>;
  /** Not before `time`; then it wakes by itself. */
  schedule(task: string, time: number, options: By & { reason?: string | undefined }): Promise<Task>;
  /** Wakes what is due, oldest first, and says which. `limit` keeps the transaction short. */
  wakeDue(now: number, options?: { limit?: number; board?: string }): Promise<string[]>;
  /** Its children no longer wait for it. */
  archive(task: string, options: By): Promise<Task>;
}

const WAKE_LIMIT = 500;

const DUE = { all: dueStatement(false), board: dueStatement(true) } as const;

function dueStatement(ofBoard: boolean) {
  return statement<{ now: number; limit: number; board: string }, TaskRow>((build, hole) => {
    const query = build
      .selectFrom("tasks")
      .selectAll()
      .where("scheduled_for", "<=", hole("now"))
      .orderBy("scheduled_for")
      .orderBy("seq")
      .limit(hole("limit"));
    // Few tasks wait for a time, so that is what the database shall look for first, and not for the board.
    return ofBoard ? query.where(sql<string>`board || ''`, "=", hole("board")) : query;
  });
}

const WAITING = statement<{ id: string }, TaskRow & { waiting: 0 | 1 }>(
  (build, hole) =>
    build
      .selectFrom("tasks")
      .selectAll()
      .select(unfinishedParent.as("waiting"))
      .where("id", "=", hole("id"))
      .where("status", "=", "scheduled") as never,
);

export function moveOperations({ database, clock }: StoreContext): MoveOperations {
  return {
    promote: (id, actor) =>
      database.write(async (session) => {
        const task = await standingOf(session, id);
        const action = task.status === "triage" ? "accept" : "promote";
        return toTask(
          await moveTask(session, task, { action, mover: await moverOf(session, task, actor), kind: "promoted", at: clock.now() }),
        );
      }),
    unblock: (id, { reason, ...actor }) =>
      database.write(async (session) => {
        const task = await standingOf(session, id);
        const payload = reason === undefined ? {} : { reason: checkText("reason", reason) };
        const mover = await moverOf(session, task, actor);
        return toTask(
          await moveTask(session, task, { action: "unblock", mover, kind: "unblocked", at: clock.now(), changes: FREE, payload }),
        );
      }),
    schedule: (id, time, { reason, ...actor }) =>
      database.write(async (session) => {
        const task = await standingOf(session, id);
        const until = checkWhole("time", time);
        const changes = { scheduled_for: until, block_kind: null, block_reason: null, blocked_by: null };
        const payload = { until, ...(reason !== undefined && { reason: checkText("reason", reason) }) };
        const mover = await moverOf(session, task, actor);
        return toTask(await moveTask(session, task, { action: "schedule", mover, kind: "scheduled", at: clock.now(), changes, payload }));
      }),
    wakeDue: (now, { limit = WAKE_LIMIT, board } = {}) =>
      database.write(async (session) => {
        const woken: string[] = [];
        for (const { id } of await session.all(board === undefined ? DUE.all : DUE.board, { now, limit, board: board ?? "" })) {
          lockTask(session, id);
          const [task] = await session.all(WAITING, { id });
          // Somebody else has woken it since.
          if (task === undefined || task.scheduled_for === null || task.scheduled_for > now) continue;
          const mover = { kind: "board", name: BOARD } as const;
          await moveTask(session, idle(task, task.waiting), { action: "wake", mover, kind: "woken", at: clock.now() });
          woken.push(id);
        }
        return woken;
      }),
    archive: (id, actor) =>
      database.write(async (session) => {
        const task = await standingOf(session, id);
        const moved = await moveTask(session, task, {
          action: "archive",
          mover: await moverOf(session, task, actor),
          kind: "archived",
          at: clock.now(),
        });
        await promoteChildren(session, id, clock.now());
        return toTask(moved);
      }),
  };
}
