/** @module What goes for ever: a task that is archived, an attachment, events that are old. */
import { sql } from "kysely";
import { authorOf } from "./author.ts";
import { knownBoard } from "./boards.ts";
import { first, type Session, statement } from "./database.ts";
import { addEvent } from "./events.ts";
import { noAttachment } from "./notes.ts";
import { refusal } from "./refusal.ts";
import { keepLastRunId } from "./run-ids.ts";
import { type Actor, moverOf, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { checkWhole } from "./task-input.ts";
import { FINISHED } from "./transitions.ts";

export interface GarbageOptions {
  readonly eventsBefore: number;
  /** @default all of them */
  readonly board?: string | undefined;
  /** How many go in one transaction, which keeps everybody else waiting. @default 2000 */
  readonly chunk?: number | undefined;
}

const GARBAGE_CHUNK = 2000;

export interface RemovalOperations {
  /** With its comments, runs and events, and only when it is archived. @returns the paths of its attachments, for the caller to remove */
  removeTask(task: string, options: { by: string }): Promise<{ readonly paths: readonly string[] }>;
  /** @returns its path, for the caller to remove. @throws `attachment-not-found` */
  removeAttachment(id: number, actor: Actor): Promise<string>;
  /** Old events of tasks that are done or archived. What a task is does not depend on them. */
  collectGarbage(options: GarbageOptions): Promise<{ readonly events: number }>;
}

const PATHS = statement<{ task: string }, { path: string }>((build, hole) =>
  build.selectFrom("attachments").select("path").where("task", "=", hole("task")).orderBy("id"),
);

const REMOVE = statement<{ id: string }>((build, hole) => build.deleteFrom("tasks").where("id", "=", hole("id")));

const ATTACHMENT = statement<{ id: number }, { task: string; name: string; path: string }>((build, hole) =>
  build.selectFrom("attachments").select(["task", "name", "path"]).where("id", "=", hole("id")),
);

const REMOVE_ATTACHMENT = statement<{ id: number }>((build, hole) => build.deleteFrom("attachments").where("id", "=", hole("id")));

export function removalOperations({ database, clock }: StoreContext): RemovalOperations {
  return {
    removeTask: (id, actor) =>
      database.write(async (session) => {
        const task = await standingOf(session, id);
        const { name } = await moverOf(session, task, actor);
        if (task.status !== "archived") throw refusal(task, "remove", `it is ${task.status}, and only tasks that are archived are removed`);
        const paths = (await session.all(PATHS, { task: id })).map(({ path }) => path);
        // Before, for SQLite gives the ids of removed events again if they were the last, and readers would miss those.
        const payload = { task: id, title: task.title };
        await addEvent(session, { board: task.board, kind: "task_removed", actor: name, at: clock.now(), payload });
        await keepLastRunId(session);
        await session.run(REMOVE, { id });
        return { paths };
      }),
    removeAttachment: (id, actor) =>
      database.write(async (session) => {
        const found = await first(session.all(ATTACHMENT, { id: checkWhole("id", id) }));
        if (found === undefined) throw noAttachment(id);
        const { task, name, path } = found;
        const { board } = await standingOf(session, task);
        const author = await authorOf(session, actor.token === undefined ? actor : { task, token: actor.token });
        // Somebody else was quicker.
        if ((await session.run(REMOVE_ATTACHMENT, { id })) === 0) throw noAttachment(id);
        const event = { board, task, run: author.run, kind: "attachment_removed", actor: author.name, at: clock.now() } as const;
        await addEvent(session, { ...event, payload: { attachment: id, name } });
        return path;
      }),
    async collectGarbage({ eventsBefore, board: wanted, chunk = GARBAGE_CHUNK }) {
      const before = checkWhole("eventsBefore", eventsBefore);
      const limit = Math.max(1, checkWhole("chunk", chunk));
      const board = wanted === undefined ? undefined : await database.read((session) => knownBoard(session, wanted));
      let events = 0;
      for (let after = 0; ; ) {
        const removed = await database.write((session) => removeEvents(session, { before, board, after, limit }));
        events += removed.length;
        if (removed.length < limit) return { events };
        after = removed.reduce((largest, id) => Math.max(largest, id));
      }
    },
  };
}

interface OldEvents {
  readonly before: number;
  readonly board: string | undefined;
  /** Only those with a larger id, so that no chunk looks again at what an earlier one has left. */
  readonly after: number;
  readonly limit: number;
}

/** Their ids. */
async function removeEvents(session: Session, { before, board, after, limit }: OldEvents): Promise<number[]> {
  const { build } = session;
  let finished = build.selectFrom("tasks").select("tasks.id").where("tasks.status", "in", FINISHED);
  if (board !== undefined) finished = finished.where("tasks.board", "=", board);
  const old = build
    .selectFrom("events")
    .select("events.id")
    .where("id", ">", after)
    .where("created_at", "<", before)
    .where("task", "in", finished)
    // SQLite gives the next id after the largest one there is, so without the newest one readers would miss those to come.
    .where("id", "<", sql<number>`(select max(id) from events)`)
    .orderBy("id")
    .limit(limit);
  const removed = await session.query(build.deleteFrom("events").where("id", "in", old).returning("id").compile());
  return removed.map(({ id }) => id);
}
