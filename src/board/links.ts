/** @module Links: a child waits until each of its parents is done or archived (K8). */
import { sql } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import { type Author, authorOf, checkReach } from "./author.ts";
import { first, type Session, statement } from "./database.ts";
import { addEvent, BOARD } from "./events.ts";
import { lockLinks, lockParents } from "./locks.ts";
import { markFromSandbox } from "./sandbox-places.ts";
import { moveTask, promoteTask, type Standing, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { noTask } from "./task.ts";
import { isFinished } from "./transitions.ts";

export interface LinkOperations {
  /** Saying it twice is fine. @throws `link-refused`: a task and itself, a cycle, two boards, a child that is finished */
  link(parent: string, child: string, author: Author): Promise<void>;
  /** What is not there is fine, too. */
  unlink(parent: string, child: string, author: Author): Promise<void>;
}

interface Pair {
  parent: string;
  child: string;
}

const INSERT = statement<Pair>((build, hole) =>
  build
    .insertInto("links")
    .values({ parent: hole("parent"), child: hole("child") })
    .onConflict((conflict) => conflict.doNothing()),
);

const DELETE = statement<Pair>((build, hole) =>
  build.deleteFrom("links").where("parent", "=", hole("parent")).where("child", "=", hole("child")),
);

const PLACE = statement<{ id: string }, { board: string; status: string }>((build, hole) =>
  build.selectFrom("tasks").select(["board", "status"]).where("id", "=", hole("id")),
);

/** Whether one comes after the other, over any number of links. */
const LEADS_TO = statement<{ from: string; to: string }, { child: string }>((build, hole) =>
  build
    .withRecursive("below", (db) =>
      db
        .selectFrom("links")
        .select("child")
        .where("parent", "=", hole("from"))
        .union(db.selectFrom("links").innerJoin("below", "below.child", "links.parent").select("links.child")),
    )
    .selectFrom("below")
    .select("child")
    .where("child", "=", hole("to"))
    .limit(sql.lit(1)),
);

export function linkOperations({ database, clock }: StoreContext): LinkOperations {
  return {
    link: (parent, child, author) =>
      database.write(async (session) => {
        if (parent === child) throw refused(parent, child, "a task cannot wait for itself");
        const known = await authorOf(session, author);
        const { name, run } = known;
        const above = await placeOf(session, parent);
        checkReach(known, above.board);
        await lockLinks(session, above.board);
        await lockParents(session, [parent]);
        const below = await standingOf(session, child);
        if (above.board !== below.board) throw refused(parent, child, `${child} is on the board ${below.board}`);
        if (isFinished(below.status)) throw refused(parent, child, `${child} is ${below.status}`);
        if (!(await addLink(session, parent, child))) return;
        if (known.isolated) await markFromSandbox(session, child);
        const at = clock.now();
        await addEvent(session, { board: below.board, task: child, run, kind: "linked", actor: name, at, payload: { parent } });
        await holdBack(session, child, at);
      }),
    unlink: (parent, child, author) =>
      database.write(async (session) => {
        const known = await authorOf(session, author);
        const { name, run } = known;
        const { board } = await placeOf(session, parent);
        checkReach(known, board);
        await standingOf(session, child);
        if ((await session.run(DELETE, { parent, child })) === 0) return;
        const at = clock.now();
        await addEvent(session, { board, task: child, run, kind: "unlinked", actor: name, at, payload: { parent } });
        const after = await standingOf(session, child);
        if (after.status === "todo" && after.waiting === 0) await promoteTask(session, after, at);
      }),
  };
}

/** False when it was there. For tasks of one board, whose links are locked. @throws `link-refused` for a cycle */
export async function addLink(session: Session, parent: string, child: string): Promise<boolean> {
  if ((await session.all(LEADS_TO, { from: child, to: parent })).length > 0) throw refused(parent, child, `${parent} already waits for it`);
  return (await session.run(INSERT, { parent, child })) > 0;
}

/** A child that was free waits again. */
export async function holdBack(session: Session, child: string, at: number): Promise<void> {
  const task: Standing = await standingOf(session, child);
  if (task.waiting === 0 || !["ready", "review"].includes(task.status)) return;
  await moveTask(session, task, { action: "hold", mover: { kind: "board", name: BOARD }, kind: "held", at });
}

async function placeOf(session: Session, id: string): Promise<{ board: string; status: string }> {
  const found = await first(session.all(PLACE, { id }));
  if (found === undefined) throw noTask(id);
  return found;
}

function refused(parent: string, child: string, reason: string): HoldfastError {
  return new HoldfastError("link-refused", `${child} cannot be made to wait for ${parent}: ${reason}`, {
    facts: { parent, child, reason },
  });
}
