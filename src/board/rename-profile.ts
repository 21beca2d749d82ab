/** @module A profile that gets another name, on all boards at once (K2). */
import { sql } from "kysely";
import { parseProfileName } from "../base/names.ts";
import { statement } from "./database.ts";
import { addEvent } from "./events.ts";
import type { StoreContext } from "./store-context.ts";
import { checkLine } from "./task-input.ts";
import { UNFINISHED } from "./transitions.ts";

export interface RenameOperations {
  /** Unfinished tasks that belong to the old name, or go back to it after a review, are the new one's. It says how many there were. */
  renameProfile(from: string, to: string, options: { by: string }): Promise<number>;
}

interface Names {
  from: string;
  to: string;
}

/** By board and status, which have an index: of finished tasks there are any number. */
function renamed(column: "assignee" | "implementer") {
  return statement<Names, { id: string; board: string }>((build, hole) =>
    build
      .updateTable("tasks")
      .set({ [column]: hole("to") })
      .where("board", "in", build.selectFrom("boards").select("slug"))
      .where("status", "in", sql<never>`(${sql.join(UNFINISHED.map((status) => sql.lit(status)))})`)
      .where(column, "=", hole("from"))
      .returning(["id", "board"]),
  );
}

const ASSIGNEE = renamed("assignee");
const IMPLEMENTER = renamed("implementer");

export function renameOperations({ database, clock }: StoreContext): RenameOperations {
  return {
    renameProfile(from, to, { by }) {
      const names = { from: parseProfileName(from), to: parseProfileName(to) };
      const event = { kind: "assigned", actor: checkLine("by", by), payload: { assignee: names.to, source: "profile rename" } } as const;
      return database.write(async (session) => {
        const assigned = await session.all(ASSIGNEE, names);
        const implemented = await session.all(IMPLEMENTER, names);
        for (const { id, board } of assigned) await addEvent(session, { ...event, board, task: id, at: clock.now() });
        return new Set([...assigned, ...implemented].map(({ id }) => id)).size;
      });
    },
  };
}
