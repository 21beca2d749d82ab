/** @module The board in PostgreSQL, for several machines that share it. */
import { type CompiledQuery, DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely";
import type { Client, ClientBase, ClientConfig, Pool, PoolClient, PoolConfig } from "pg";
import { describeError, HoldfastError } from "../base/errors.ts";
import { urlWithoutPassword } from "../base/without-password.ts";
import type { Database, Form, Session } from "./database.ts";
import { CHANNEL, listen } from "./postgres-listen.ts";
import type { Tables } from "./schema.ts";

const CONNECTIONS = 8;
const CONNECT_LIMIT_MS = 10_000;
// A client that hangs in the middle of a transaction must not keep the others waiting for ever.
const TRANSACTION_IDLE_LIMIT_MS = 30_000;
const LOCK_LIMIT_MS = 30_000;
/** Longer than any wait for a lock. */
const ANSWER_LIMIT_MS = 40_000;
const KEEP_ALIVE_MS = 10_000;
const ATTEMPTS = 10;
/** Two writers waited for each other, or one changed what the other had read. The one that hears of it has done nothing. */
const TIES = new Set(["40001", "40P01"]);
const LOCK_TIMEOUT = "55P03";
/** A NUL in something that is looked for: what is stored was checked before. */
const NOT_A_TEXT = "22021";
/** It restarts, is full, or cannot be reached. What only breaks the connection has no code. */
const PASSING = /^(?:|08...|53...|57P..|E[A-Z_]+)$/;
const BIGINT = 20;

// The number of an advisory lock in this database that nobody else is likely to use.
const EVENTS_LOCK = 1_650_811_001;

/**
 * Event ids are given before a transaction ends, so a smaller one could appear behind a larger one and be missed by whoever has read so far.
 * Writers therefore share a lock, and a reader takes it alone for a moment: what it then sees has no gaps.
 */
const BEGIN_WRITE = `begin; select pg_advisory_xact_lock_shared(${EVENTS_LOCK})`;
const BEGIN_READ = `begin; select pg_advisory_xact_lock(${EVENTS_LOCK})`;

/** A commit that notifies waits for all others that do, so only those that must tell somebody do it. */
const COMMIT = { quiet: "commit", loud: `notify ${CHANNEL}; commit` } as const;

export async function openPostgres(url: string): Promise<Database> {
  const location = urlWithoutPassword(url);
  const { pool, createClient } = await connectTo(url);
  const build = postgresBuilder();
  const explain = (error: unknown) => explained(error, location);

  const transaction = async <T>(begin: string, work: (session: Session) => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await withClient(pool, (client) => inTransaction(client, { begin, build, work }));
      } catch (error) {
        if (attempt === ATTEMPTS || !TIES.has(codeOf(error))) throw explain(error);
      }
    }
  };

  return {
    dialect: "postgres",
    location,
    build,
    write: (work) => transaction(BEGIN_WRITE, work),
    async read(work) {
      try {
        return await work(reader(pool, build));
      } catch (error) {
        throw explain(error);
      }
    },
    readSettled: (work) => transaction(BEGIN_READ, work),
    async watch(signal, onError) {
      try {
        return await listen(createClient, { signal, onError: (error) => onError(explain(error)) });
      } catch (error) {
        throw explain(error);
      }
    },
    async execute(sql) {
      try {
        return (await pool.query(sql)).rows;
      } catch (error) {
        throw explain(error);
      }
    },
    [Symbol.asyncDispose]: async () => {
      if (!pool.ended) await pool.end();
    },
  };
}

async function withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  try {
    return await work(client);
  } catch (error) {
    // A connection that cannot even roll back is of no use to the next one.
    await client.query("rollback").catch(() => {
      broken = true;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

interface Transaction<T> {
  readonly begin: string;
  readonly build: Kysely<Tables>;
  readonly work: (session: Session) => Promise<T>;
}

/**
 * What nobody needs the answer of is sent without waiting for that of what was sent before: most of the time of a small transaction is
 * spent on the way. The server does it all in order, and nothing after the first failure.
 */
async function inTransaction<T>(client: ClientBase, { begin, build, work }: Transaction<T>): Promise<T> {
  const deferred: Promise<unknown>[] = [];
  const defer = (answer: Promise<unknown>) => {
    // It is looked at in the end; until then nobody has missed it.
    answer.catch(() => undefined);
    deferred.push(answer);
  };
  let loud = false;
  defer(client.query(begin));
  const session: Session = {
    ...reader(client, build),
    defer(statement, values, check) {
      defer(ask(client, statement.name, statement.form("postgres", build), values).then(({ rowCount }) => check?.(rowCount ?? 0)));
    },
    announce() {
      loud = true;
    },
  };
  try {
    const result = await work(session);
    await Promise.all(deferred);
    await client.query(loud ? COMMIT.loud : COMMIT.quiet).catch((error: unknown) => {
      throw TIES.has(codeOf(error)) ? error : new Undecided("nobody knows whether it was committed", { cause: error });
    });
    return result;
  } catch (error) {
    // What was sent after a failure only hears that there was one.
    const failed = (await Promise.allSettled(deferred)).find(({ status }) => status === "rejected");
    throw failed?.status === "rejected" ? failed.reason : error;
  }
}

function reader(client: ClientBase | Pool, build: Kysely<Tables>): Session {
  const send = ({ sql, parameters }: CompiledQuery) => client.query(sql, parameters as unknown[]);
  return {
    dialect: "postgres",
    alone: false,
    build,
    all: async (statement, values) => (await ask(client, statement.name, statement.form("postgres", build), values)).rows,
    run: async (statement, values) => (await ask(client, statement.name, statement.form("postgres", build), values)).rowCount ?? 0,
    query: async (query) => (await send(query)).rows,
    change: async (query) => (await send(query)).rowCount ?? 0,
    defer: outsideOfTransaction,
    announce: outsideOfTransaction,
  };
}

function ask<Values extends object>(client: ClientBase | Pool, name: string, { sql, bind }: Form<Values>, values: Values) {
  return client.query({ name, text: sql, values: bind(values) });
}

function outsideOfTransaction(): never {
  throw new HoldfastError("internal", "something was written outside of a transaction");
}

async function connectTo(url: string): Promise<{ pool: Pool; createClient: () => Client }> {
  const { default: pg } = await import("pg").catch((error: unknown) => {
    throw new HoldfastError("unsupported", "a board in PostgreSQL needs the package pg, which is not installed", {
      hint: "install it beside Holdfast: npm install pg",
      cause: error,
    });
  });
  const config: ClientConfig = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    // A server that is gone without a word must not keep anybody for ever.
    query_timeout: ANSWER_LIMIT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    idle_in_transaction_session_timeout: TRANSACTION_IDLE_LIMIT_MS,
    lock_timeout: LOCK_LIMIT_MS,
    application_name: "holdfast",
    // Ids and times are far below what a number holds exactly.
    types: {
      getTypeParser: (oid: number, format?: "text") => (oid === BIGINT ? Number : pg.types.getTypeParser(oid, format)),
    } as PoolConfig["types"] & object,
  };
  const createClient = () => new pg.Client(config);
  try {
    createClient();
  } catch (error) {
    // The pool would only hear of it when it is too late to tell the URL from the server.
    throw new HoldfastError("board-unavailable", `the URL ${urlWithoutPassword(url)} cannot be used: ${describeError(error)}`, {
      hint: "see docs/guides/board.md, Several machines, for its form; in a user or password, write % as %25",
      facts: { location: urlWithoutPassword(url) },
      cause: error,
    });
  }
  const pool = new pg.Pool({ ...config, max: CONNECTIONS, allowExitOnIdle: true, pipeline: true });
  // A connection that breaks while nobody uses it is replaced by the pool; without a listener it would end the process.
  pool.on("error", () => undefined);
  // So would one that breaks while it is in use, where the query hears of it.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return { pool, createClient };
}

function postgresBuilder(): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

/** The connection broke between the order to commit and its answer. */
class Undecided extends Error {}

function explained(thrown: unknown, location: string): unknown {
  if (HoldfastError.isInstance(thrown)) return thrown;
  const undecided = thrown instanceof Undecided;
  const error = undecided ? thrown.cause : thrown;
  const code = codeOf(error);
  // What the driver throws is an Error or has a code; the rest are mistakes of ours, which must look like it.
  if (code === "" && (error as object)?.constructor !== Error) return error;
  const facts = { location, postgres: code, passing: PASSING.test(code), ...(undecided && { undecided }) };
  const options = { facts, cause: error };
  if (TIES.has(code) || code === LOCK_TIMEOUT)
    return new HoldfastError("locked", `others kept the board in ${location} for too long`, options);
  if (code === NOT_A_TEXT) return new HoldfastError("invalid-input", "no text of a board holds a NUL byte", options);
  return new HoldfastError("board-unavailable", `the board in ${location} cannot be used: ${describeError(error)}`, options);
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}
