/** @module The board in a file of SQLite, through node:sqlite. One connection, so its transactions wait for each other here. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { type CompiledQuery, DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { systemClock } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";
import { createTurns } from "../base/in-turn.ts";
import { makePrivateFile } from "../base/private-file.ts";
import type { Database, Session } from "./database.ts";
import { lastEventOf } from "./events.ts";
import type { Tables } from "./schema.ts";
import { type SqliteWatch, watchSqlite } from "./sqlite-watch.ts";

/**
 * Nearly all of the time of a transaction is its commit, which writes and sums up every page it has touched, wherever its few bytes are: so
 * pages are small. A checkpoint syncs the disk, so there is one for each 64 MiB, sixteen times the default.
 */
const SETTINGS = ["page_size = 2048", "journal_mode = wal", "synchronous = normal", "wal_autocheckpoint = 32768", "cache_size = -16384"];
const BUSY = 5;
const BUSY_PAUSE_MS = 10;
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
    // There is no way to go that could be saved.
    defer(statement, values, check) {
      const { sql, bind } = statement.form("sqlite", build);
      const { changes } = prepare(sql).run(...(bind(values) as SQLInputValue[]));
      check?.(Number(changes));
    },
    // Whoever watches sees the file change, and looks for events.
    announce() {},
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

  const watches = new Set<SqliteWatch>();
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
          for (const each of watches) each.perhaps();
          return result;
        } catch (error) {
          // A full disk has already rolled back.
          if (connection.isTransaction) rollback.run();
          throw explain(error);
        }
      }),
    read,
    readSettled: read,
    async watch(signal, onError) {
      const seen = await read(lastEventOf);
      const watch = watchSqlite(path, { seen, lastEvent: () => read(lastEventOf), signal, onError });
      watches.add(watch);
      return {
        async [Symbol.asyncDispose]() {
          watches.delete(watch);
          await watch[Symbol.asyncDispose]();
        },
      };
    },
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

/** Of several that open a new file at once, one makes it a log-keeping database, and SQLite does not let the others wait for that. */
function connect(path: string, busyLimitMs: number): DatabaseSync {
  const end = systemClock.monotonic() + busyLimitMs;
  for (;;) {
    try {
      return connectOnce(path, busyLimitMs);
    } catch (error) {
      if (kindOf(error) !== BUSY || systemClock.monotonic() > end) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS);
    }
  }
}

function connectOnce(path: string, busyLimitMs: number): DatabaseSync {
  // What SQLite keeps beside it has the same permissions.
  if (path !== ":memory:") makePrivateFile(path);
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
const inTurn = createTurns();

function attempt<T>(action: () => T, explain: (error: unknown) => unknown): T {
  try {
    return action();
  } catch (error) {
    throw explain(error);
  }
}

function explained(error: unknown, path: string): unknown {
  const kind = kindOf(error);
  if (kind === undefined || !(error instanceof Error)) return error;
  const options = { facts: { location: path, sqlite: kind }, cause: error };
  if (kind === BUSY) return new HoldfastError("locked", `another process kept the board in ${path} for too long`, options);
  if (DAMAGED.has(kind)) return new HoldfastError("board-damaged", `the board in ${path} is damaged: ${error.message}`, options);
  return new HoldfastError("board-unavailable", `the board in ${path} cannot be used: ${error.message}`, options);
}

/** Undefined for what is no error of SQLite. The low byte of its number is the kind, the rest says more about it. */
function kindOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== "ERR_SQLITE_ERROR") return undefined;
  return (error as Error & { errcode: number }).errcode & 0xff;
}
