/** @module A whole board as plain data, for another database or for keeping. */
import { type Board, boardRow, toBoard } from "./boards.ts";
import { type BoardEvent, toEvent } from "./events.ts";
import { type Attachment, type Comment, toAttachment, toComment } from "./notes.ts";
import { type Run, toRun } from "./runs.ts";
import type { StoreContext } from "./store-context.ts";
import { type Task, toTask } from "./task.ts";

export const EXPORT_VERSION = 1;

/** What JSON can hold. Tokens are not in it, and of attachments only what is known about them. */
export interface ExportedBoard {
  readonly version: typeof EXPORT_VERSION;
  readonly board: Board;
  /** Oldest first, like the rest. */
  readonly tasks: readonly Task[];
  readonly links: readonly { readonly parent: string; readonly child: string }[];
  readonly comments: readonly Comment[];
  /** `path` is where the file is on this machine, for whoever packs it. */
  readonly attachments: readonly Attachment[];
  readonly runs: readonly Run[];
  readonly events: readonly BoardEvent[];
}

export interface ExportOperations {
  /** As it is at one moment. @throws `board-not-found` */
  exportBoard(board: string): Promise<ExportedBoard>;
}

export function exportOperations({ database }: StoreContext): ExportOperations {
  const { build, dialect } = database;
  // Where nobody writes meanwhile: in SQLite that is a transaction which could write, in PostgreSQL one that waits for all who do.
  const standStill: typeof database.write = (work) => (dialect === "sqlite" ? database.write(work) : database.readSettled(work));
  return {
    exportBoard: (wanted) =>
      standStill(async (session) => {
        const board = toBoard(await boardRow(session, wanted));
        const { slug } = board;
        const ids = build.selectFrom("tasks").select("tasks.id").where("tasks.board", "=", slug);
        const tasks = build.selectFrom("tasks").selectAll().where("board", "=", slug).orderBy("seq");
        const links = build.selectFrom("links").selectAll().where("child", "in", ids).orderBy("child").orderBy("parent");
        const comments = build.selectFrom("comments").selectAll().where("task", "in", ids).orderBy("id");
        const attachments = build.selectFrom("attachments").selectAll().where("task", "in", ids).orderBy("id");
        const runs = build.selectFrom("runs").selectAll().where("task", "in", ids).orderBy("id");
        const events = build.selectFrom("events").selectAll().where("board", "=", slug).orderBy("id");
        return {
          version: EXPORT_VERSION,
          board,
          tasks: (await session.query(tasks.compile())).map(toTask),
          links: (await session.query(links.compile())).map(({ parent, child }) => ({ parent, child })),
          comments: (await session.query(comments.compile())).map(toComment),
          attachments: (await session.query(attachments.compile())).map(toAttachment),
          runs: (await session.query(runs.compile())).map(toRun),
          events: (await session.query(events.compile())).map(toEvent),
        };
      }),
  };
}
