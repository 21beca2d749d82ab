/** @module The board in a file of SQLite, through node:sqlite. One connection, so its transactions wait for each other here. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { type CompiledQuery, DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import type { Database, Session } from "./database.ts";
import type { Tables } from "./schema.ts";

/**
 * Nearly all of the time of a transaction is its commit, which writes and sums up every page it has touched, wherever its few bytes are: so
 * pages are small. A checkpoint syncs the disk, so there is one for each 32 MiB, eight times the default.
 */
const SETTINGS = ["page_size = 2048", "journal_mode = wal", "synchronous = normal", "wal_autocheckpoint = 16384", "cache_size = -16384"];
const BUSY = 5;
const DAMAGED = new Set([11, 26]);

export function openSqlite(path: string, busyLimitMs: number): Database {
  const explain = (error: unknown) => explained(error, path);
  const connection = attempt(() => connect(path, busyLimitMs), explain);
  const build = sqliteBuilder();
  const known = new Map<string, StatementSync>();
  const prepare = (sql: string) => {
    const found = known.get(sql) ?? connection.prepare(sql);
    known.set(sql, found);
    return found;
  };
  // Their texts change with what is asked for, so keeping them would be keeping ever more.
  const once = ({ sql, parameters }: CompiledQuery) => ({ made: connection.prepare(sql), inputs: parameters as SQLInputValue[] });
  const session: Session = {
    dialect: "sqlite",
    alone: true,
    build,
    async all(statement, values) {
      const { sql, bind } = statement.form("sqlite", build);
      return prepare(sql).all(...(bind(values) as SQLInputValue[])) as never[];
    },
    async run(statement, values) {
      const { sql, bind } = statement.form("sqlite", build);
      return Number(prepare(sql).run(...(bind(values) as SQLInputValue[])).changes);
    },
    async query(query) {
      const { made, inputs } = once(query);
      return made.all(...inputs) as never[];
    },
    async change(query) {
      const { made, inputs } = once(query);
      return Number(made.run(...inputs).changes);
    },
  };
  const [begin, commit, rollback] = [connection.prepare("begin immediate"), connection.prepare("commit"), connection.prepare("rollback")];

  const read: Database["read"] = (work) =>
    inTurn(async () => {
      try {
        return await work(session);
      } catch (error) {
        throw explain(error);
      }
    });

  return {
    dialect: "sqlite",
    location: path,
    build,
    write: (work) =>
      inTurn(async () => {
        try {
          begin.run();
          const result = await work(session);
          commit.run();
          return result;
        } catch (error) {
          // A full disk has already rolled back.
          if (connection.isTransaction) rollback.run();
          throw explain(error);
        }
      }),
    read,
    readSettled: read,
    execute: (sql) => inTurn(async () => attempt(() => connection.prepare(sql).all(), explain)),
    [Symbol.asyncDispose]: () =>
      inTurn(async () => {
        if (connection.isOpen) connection.close();
      }),
  };
}

function sqliteBuilder(): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

function connect(path: string, busyLimitMs: number): DatabaseSync {
  const connection = new DatabaseSync(path, { timeout: busyLimitMs, enableForeignKeyConstraints: true });
  try {
    // The database is as durable as a file that was written and not yet synced: a crash of the machine may cost the last moments, never the whole.
    connection.exec([...SETTINGS, "cell_size_check = on"].map((setting) => `pragma ${setting};`).join(""));
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * For all stores of this thread: a second one that waited for the lock of a transaction of the first would keep that from going on, since
 * node:sqlite waits in the thread. They could not run side by side anyway.
 */
const inTurn = createQueue();

/** Whoever comes first goes first, and nobody in the middle of another's transaction. */
function createQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work, work);
    last = result;
    result.catch(ignore);
    return result;
  };
}

function ignore(): void {
  // The caller has the same promise and hears of it there.
}

function attempt<T>(action: () => T, explain: (error: unknown) => unknown): T {
  try {
    return action();
  } catch (error) {
    throw explain(error);
  }
}

function explained(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== "ERR_SQLITE_ERROR") return error;
  // The low byte is the kind of error, the rest says more about it.
  const kind = (error as Error & { errcode: number }).errcode & 0xff;
  const options = { facts: { location: path, sqlite: kind }, cause: error };
  if (kind === BUSY) return new HoldfastError("locked", `another process kept the board in ${path} for too long`, options);
  if (DAMAGED.has(kind)) return new HoldfastError("board-damaged", `the board in ${path} is damaged: ${error.message}`, options);
  return new HoldfastError("board-unavailable", `the board in ${path} cannot be used: ${error.message}`, options);
}
