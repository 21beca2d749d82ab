/** @module Boards: rows that tasks belong to. `default` is always there (K5). */
import type { Selectable } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { first, type Session, statement } from "./database.ts";
import { addEvent } from "./events.ts";
import { lockTasks } from "./locks.ts";
import { keepLastRunId } from "./run-ids.ts";
import type { BoardTable } from "./schema.ts";
import { DEFAULT_BOARD, parseSlug } from "./slug.ts";
import type { StoreContext } from "./store-context.ts";
import { checkLine, checkText } from "./task-input.ts";

export interface Board {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly icon: string;
  readonly defaultWorkdir: string | null;
  readonly createdAt: number;
  readonly archivedAt: number | null;
}

export interface BoardFields {
  /** @default the slug */
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly icon?: string | undefined;
  /** An absolute path. */
  readonly defaultWorkdir?: string | null | undefined;
}

export interface BoardOperations {
  /** @throws `board-exists` */
  createBoard(slug: string, options: BoardFields & { by: string }): Promise<Board>;
  /** By slug. Archived ones only if asked for. */
  listBoards(options?: { archived?: boolean }): Promise<Board[]>;
  /** @throws `board-not-found`, with the one that was probably meant */
  getBoard(slug: string): Promise<Board>;
  /** Its slug stays. */
  editBoard(slug: string, options: BoardFields & { by: string }): Promise<Board>;
  /** It is no longer listed, and nothing new is made on it. Refused while one of its tasks is running. */
  archiveBoard(slug: string, options: { by: string }): Promise<Board>;
  /** With all its tasks, for ever. Refused while one of them is running. */
  removeBoard(slug: string, options: { by: string }): Promise<void>;
}

type BoardRow = Selectable<BoardTable>;

const BOARD_BY_SLUG = statement<{ slug: string }, BoardRow>((build, hole) =>
  build.selectFrom("boards").selectAll().where("slug", "=", hole("slug")),
);

export function boardOperations({ database, clock }: StoreContext): BoardOperations {
  const { build } = database;
  return {
    createBoard: (input, { by, ...fields }) =>
      database.write(async (session) => {
        const at = clock.now();
        const board = await insertBoard(session, input, { fields, at });
        await addEvent(session, { board: board.slug, kind: "board_created", actor: checkLine("by", by), at });
        return board;
      }),
    async listBoards({ archived = false } = {}) {
      const all = build.selectFrom("boards").selectAll().orderBy("slug");
      const query = archived ? all : all.where("archived_at", "is", null);
      return (await database.read((session) => session.query(query.compile()))).map(toBoard);
    },
    getBoard: (slug) => database.read(async (session) => toBoard(await boardRow(session, slug))),
    editBoard: (input, { by, ...fields }) =>
      database.write(async (session) => {
        const row = await boardRow(session, input);
        const columns = columnsOf(fields);
        if (Object.keys(columns).length === 0) return toBoard(row);
        await setBoard(session, row.slug, columns);
        const payload = { fields: Object.keys(columns) };
        await addEvent(session, { board: row.slug, kind: "board_edited", actor: checkLine("by", by), at: clock.now(), payload });
        return toBoard({ ...row, ...columns });
      }),
    archiveBoard: (input, { by }) =>
      database.write(async (session) => {
        const row = await boardRow(session, input);
        refuseDefault(row.slug, "archived");
        await refuseRunning(session, row.slug);
        if (row.archived_at !== null) return toBoard(row);
        const at = clock.now();
        await setBoard(session, row.slug, { archived_at: at });
        await addEvent(session, { board: row.slug, kind: "board_archived", actor: checkLine("by", by), at });
        return toBoard({ ...row, archived_at: at });
      }),
    removeBoard: (input, { by }) =>
      database.write(async (session) => {
        const { slug } = await boardRow(session, input);
        refuseDefault(slug, "removed");
        await refuseRunning(session, slug);
        // On a board that stays, and before: SQLite gives the ids of removed rows again if they were the last, and readers would miss those.
        const payload = { board: slug };
        await addEvent(session, { board: DEFAULT_BOARD, kind: "board_removed", actor: checkLine("by", by), at: clock.now(), payload });
        await keepLastRunId(session);
        // Those of its tasks go with them.
        await session.change(build.deleteFrom("events").where("board", "=", slug).where("task", "is", null).compile());
        await session.change(build.deleteFrom("boards").where("slug", "=", slug).compile());
      }),
  };
}

/** Without an event. @throws `board-exists` */
export async function insertBoard(session: Session, input: string, { fields, at }: { fields: BoardFields; at: number }): Promise<Board> {
  const slug = parseSlug(input);
  const row = { slug, name: slug, description: "", icon: "", default_workdir: null, created_at: at, archived_at: null };
  const filled = { ...row, ...columnsOf(fields) };
  const insert = session.build
    .insertInto("boards")
    .values(filled)
    .onConflict((conflict) => conflict.doNothing());
  if ((await session.change(insert.compile())) === 0) {
    throw new HoldfastError("board-exists", `there is already a board ${slug}`, { facts: { board: slug } });
  }
  return toBoard(filled);
}

/** Made when the store is opened, unless it is there. */
export async function ensureDefaultBoard(session: Session, at: number): Promise<void> {
  const { build } = session;
  const row = { slug: DEFAULT_BOARD, name: "Default", description: "", icon: "", default_workdir: null, created_at: at, archived_at: null };
  const insert = build
    .insertInto("boards")
    .values(row)
    .onConflict((conflict) => conflict.doNothing());
  await session.change(insert.compile());
}

/** The board that something new is made on. @throws `board-not-found`, also for one that is archived */
export async function liveBoard(session: Session, input: string): Promise<string> {
  const row = await boardRow(session, input);
  if (row.archived_at === null) return row.slug;
  throw new HoldfastError("board-not-found", `the board ${row.slug} is archived`, {
    hint: "use another board",
    facts: { board: row.slug },
  });
}

/** Its slug. @throws `board-not-found` */
export async function knownBoard(session: Session, input: string): Promise<string> {
  return (await boardRow(session, input)).slug;
}

/** @throws `board-not-found` */
export async function boardRow(session: Session, input: string): Promise<BoardRow> {
  const slug = parseSlug(input);
  const row = await first(session.all(BOARD_BY_SLUG, { slug }));
  if (row !== undefined) return row;
  const all = await session.query(session.build.selectFrom("boards").select("slug").compile());
  const meant = suggest(slug, new Set(all.map((each) => each.slug)));
  throw new HoldfastError("board-not-found", `there is no board ${slug}`, {
    hint: meant && `did you mean "${meant}"?`,
    facts: { board: slug },
  });
}

/** @throws `board-not-found` when it was removed meanwhile */
async function setBoard(session: Session, slug: string, columns: Partial<BoardRow>): Promise<void> {
  const changed = await session.change(session.build.updateTable("boards").set(columns).where("slug", "=", slug).compile());
  if (changed === 0) await boardRow(session, slug);
}

function columnsOf({ name, description, icon, defaultWorkdir }: BoardFields): Partial<BoardRow> {
  return {
    ...(name !== undefined && { name: checkLine("name", name) }),
    ...(description !== undefined && { description: checkText("description", description) }),
    ...(icon !== undefined && { icon: checkText("icon", icon) }),
    ...(defaultWorkdir !== undefined && { default_workdir: defaultWorkdir === null ? null : checkPath(defaultWorkdir) }),
  };
}

function checkPath(path: string): string {
  if (checkLine("defaultWorkdir", path).startsWith("/")) return path;
  throw new HoldfastError("invalid-input", "defaultWorkdir must be an absolute path", { facts: { field: "defaultWorkdir" } });
}

function refuseDefault(slug: string, what: string): void {
  if (slug !== DEFAULT_BOARD) return;
  throw new HoldfastError("move-refused", `the board default cannot be ${what}`, {
    hint: "archive its tasks instead",
    facts: { board: slug },
  });
}

async function refuseRunning(session: Session, slug: string): Promise<void> {
  await lockTasks(session);
  const query = session.build.selectFrom("tasks").select("id").where("board", "=", slug).where("status", "=", "running").limit(1);
  const [task] = await session.query(query.compile());
  if (task === undefined) return;
  throw new HoldfastError("move-refused", `${task.id} on the board ${slug} is running`, {
    hint: "wait for it, or reclaim it first",
    facts: { board: slug, task: task.id },
  });
}

export function toBoard({ default_workdir: defaultWorkdir, created_at: createdAt, archived_at: archivedAt, ...row }: BoardRow): Board {
  return { ...row, defaultWorkdir, createdAt, archivedAt };
}
