/** @module A board that was exported becomes a new board, with everything on it (K5). */
import { HoldfastError } from "../base/errors.ts";
import { type Board, insertBoard } from "./boards.ts";
import { insertTask } from "./create-task.ts";
import { type Session, statement } from "./database.ts";
import { addEvent, type EventKind } from "./events.ts";
import type { ExportedBoard } from "./export-board.ts";
import { checkEvent, checkImport, checkSize, mapped, runColumns, taskColumns } from "./import-input.ts";
import type { Attachment } from "./notes.ts";
import { insertRun } from "./runs.ts";
import type { StoreContext } from "./store-context.ts";
import { FRESH_HISTORY, type Task } from "./task.ts";
import { checkLine, checkText, checkWhole } from "./task-input.ts";
import { isFinished, landing, type Status } from "./transitions.ts";

export interface ImportOptions {
  readonly by: string;
  /** The name of the new board. @default the one it had */
  readonly as?: string | undefined;
  /** Where the file of an attachment is on this machine; null when it did not come along. What the data say is never believed. */
  readonly attachmentPath?: ((attachment: Attachment) => string | null) | undefined;
}

export interface ImportedBoard {
  readonly board: Board;
  /** The id of each task by the one it had. They are the same unless that was taken. */
  readonly ids: Readonly<Record<string, string>>;
  /** Names of attachments whose files did not come along; they are left out. */
  readonly leftOut: readonly string[];
}

export interface ImportOperations {
  /**
   * Always a new board. What was running is free again, its run reclaimed.
   * @throws `board-exists`, `invalid-input`, `invalid-name`, `link-refused`, `too-large`
   */
  importBoard(data: ExportedBoard, options: ImportOptions): Promise<ImportedBoard>;
}

const LINK = statement<{ parent: string; child: string }>((build, hole) =>
  build.insertInto("links").values({ parent: hole("parent"), child: hole("child") }),
);

const SERIES = statement<{ id: string; series: string | null; successor: string | null }>((build, hole) =>
  build
    .updateTable("tasks")
    .set({ series: hole("series"), successor: hole("successor") })
    .where("id", "=", hole("id")),
);

interface Importing {
  readonly session: Session;
  readonly data: ExportedBoard;
  readonly board: string;
  readonly at: number;
  readonly ids: Map<string, string>;
  readonly runs: Map<number, number>;
}

export function importOperations({ database, clock }: StoreContext): ImportOperations {
  return {
    async importBoard(data, { by, as, attachmentPath = () => null }) {
      const actor = checkLine("by", by);
      await checkImport(data, clock.now());
      return await database.write(async (session) => {
        const at = clock.now();
        const { name, description, icon, defaultWorkdir } = data.board;
        const board = await insertBoard(session, as ?? data.board.slug, { fields: { name, description, icon, defaultWorkdir }, at });
        const importing: Importing = { session, data, board: board.slug, at, ids: new Map(), runs: new Map() };
        const landed = await importTasks(importing);
        await importRuns(importing);
        const comments = await importComments(importing);
        const { attachments, leftOut } = await importAttachments(importing, attachmentPath);
        await importEvents(importing, { comment: comments, attachment: attachments });
        await addEvent(session, { board: board.slug, kind: "board_imported", actor, at, payload: { from: data.board.slug } });
        for (const { task, from, to } of landed) {
          await addEvent(session, { board: board.slug, task, kind: landedKind(from, to), actor, at, payload: { from, to } });
        }
        return { board, ids: Object.fromEntries(importing.ids), leftOut };
      });
    },
  };
}

interface Landed {
  readonly task: string;
  readonly from: Status;
  readonly to: Status;
}

/** @returns those that are not what the data say, since that cannot be here */
async function importTasks({ session, data, board, ids }: Importing): Promise<Landed[]> {
  const statuses = new Map(data.tasks.map(({ id, status }) => [id, status]));
  const waiting = new Set(data.links.filter(({ parent }) => !isFinished(statuses.get(parent))).map(({ child }) => child));
  const landed: Landed[] = [];
  for (const task of data.tasks) {
    const columns = taskColumns(task);
    const { status: from, phase } = columns;
    const to = ["todo", "ready", "review", "running"].includes(from) ? landing(!waiting.has(task.id), phase) : from;
    const { row } = await insertTask(session, { ...columns, ...FRESH_HISTORY, ...kept(columns), board, status: to }, task.id);
    ids.set(task.id, row.id);
    if (from !== to) landed.push({ task: row.id, from, to });
  }
  for (const task of data.tasks) await importSeries(session, task, ids);
  for (const { parent, child } of data.links) {
    await session.run(LINK, { parent: mapped("link", parent, ids), child: mapped("link", child, ids) });
  }
  return landed;
}

function kept({ overdue_at, decomposed_at, from_sandbox }: ReturnType<typeof taskColumns>) {
  return { overdue_at, decomposed_at, from_sandbox };
}

/** A name that is not on this board was that of a task that is removed since. */
async function importSeries(session: Session, { id, series, successor, repeat }: Task, ids: ReadonlyMap<string, string>): Promise<void> {
  if ((series ?? null) === null && (successor ?? null) === null && (repeat ?? null) === null) return;
  const own = mapped("id", id, ids);
  const begun = ids.get(series ?? "") ?? (series === null ? own : checkLine("series", series));
  await session.run(SERIES, {
    id: own,
    series: begun,
    successor: successor === null ? null : (ids.get(successor) ?? checkLine("successor", successor)),
  });
}

async function importRuns({ session, data, board, at, ids, runs }: Importing): Promise<void> {
  for (const run of data.runs) {
    runs.set(run.id, await insertRun(session, { ...runColumns(run, at), board, task: mapped("task", run.task, ids) }));
  }
}

async function importComments({ session, data, ids, runs }: Importing): Promise<Map<number, number>> {
  const made = new Map<number, number>();
  for (const { id, task, run, author, body, createdAt } of data.comments) {
    const row = {
      ...{ task: mapped("task", task, ids), run: run === null ? null : mapped("run", run, runs) },
      ...{ author: checkLine("author", author), body: checkText("body", body), created_at: checkWhole("createdAt", createdAt) },
    };
    made.set(id, numberOf(await session.query(session.build.insertInto("comments").values(row).returning("id").compile())));
  }
  return made;
}

async function importAttachments({ session, data, ids, runs }: Importing, pathOf: (attachment: Attachment) => string | null) {
  const attachments = new Map<number, number>();
  const leftOut: string[] = [];
  for (const attachment of data.attachments) {
    const { id, task, run, name, contentType, size, addedBy, createdAt } = attachment;
    const row = {
      ...{ task: mapped("task", task, ids), run: run === null ? null : mapped("run", run, runs) },
      ...{ name: checkLine("name", name), content_type: checkLine("contentType", contentType), size: checkSize(size) },
      ...{ added_by: checkLine("addedBy", addedBy), created_at: checkWhole("createdAt", createdAt) },
    };
    const path = pathOf({ ...attachment, task: row.task });
    if (path === null) {
      leftOut.push(name);
      continue;
    }
    const insert = session.build.insertInto("attachments").values({ ...row, path: checkLine("path", path) });
    attachments.set(id, numberOf(await session.query(insert.returning("id").compile())));
  }
  return { attachments, leftOut };
}

const DEEPEST = 100;

interface Names {
  readonly ids: ReadonlyMap<string, string>;
  readonly numbers: Numbers;
}

type Numbers = Readonly<Record<"comment" | "attachment", ReadonlyMap<number, number>>>;

async function importEvents({ session, data, board, ids, runs }: Importing, numbers: Numbers): Promise<void> {
  for (const event of data.events) {
    const { task, run, payload } = event;
    await addEvent(session, {
      ...checkEvent(event),
      board,
      task: task === null ? null : mapped("task", task, ids),
      run: run === null ? null : mapped("run", run, runs),
      payload: rewritten(payload, { ids, numbers }) as Record<string, unknown>,
    });
  }
}

/** Whatever is exactly an id is one. */
function rewritten(value: unknown, names: Names, depth = 0): unknown {
  const { ids, numbers } = names;
  if (depth > DEEPEST)
    throw new HoldfastError("invalid-input", `the payload of an event is nested more than ${DEEPEST} deep`, {
      facts: { field: "payload" },
    });
  if (typeof value === "string") return ids.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each) => rewritten(each, names, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const known = key === "comment" || key === "attachment" ? numbers[key].get(each as number) : undefined;
      return [key, known ?? rewritten(each, names, depth + 1)];
    }),
  );
}

function landedKind(from: Status, to: Status): EventKind {
  if (from === "running") return "reclaimed";
  return to === "todo" ? "held" : "promoted";
}

function numberOf(rows: readonly { readonly id: number }[]): number {
  const [row] = rows;
  if (row === undefined) throw new HoldfastError("internal", "a row that was imported got no number");
  return row.id;
}
