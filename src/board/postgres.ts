/** @module The board in PostgreSQL, for several machines that share it. */
import { type CompiledQuery, DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely";
import type { Pool, PoolClient, PoolConfig } from "pg";
import { describeError, HoldfastError } from "../base/errors.ts";
import type { Database, Session } from "./database.ts";
import type { Tables } from "./schema.ts";

const CONNECTIONS = 8;
const CONNECT_LIMIT_MS = 10_000;
// A client that hangs in the middle of a transaction must not keep the others waiting for ever.
const TRANSACTION_IDLE_LIMIT_MS = 30_000;
const LOCK_LIMIT_MS = 30_000;
const ATTEMPTS = 10;
/** Two writers waited for each other, or one changed what the other had read. The one that hears of it has done nothing. */
const TIES = new Set(["40001", "40P01"]);
const LOCK_TIMEOUT = "55P03";
const BIGINT = 20;

// The number of an advisory lock in this database that nobody else is likely to use.
const EVENTS_LOCK = 1_650_811_001;

/**
 * Event ids are given before a transaction ends, so a smaller one could appear behind a larger one and be missed by whoever has read so far.
 * Writers therefore share a lock, and a reader takes it alone for a moment: what it then sees has no gaps.
 */
const BEGIN_WRITE = `begin; select pg_advisory_xact_lock_shared(${EVENTS_LOCK})`;
const BEGIN_READ = `begin; select pg_advisory_xact_lock(${EVENTS_LOCK})`;

export async function openPostgres(url: string): Promise<Database> {
  const location = withoutPassword(url);
  const pool = await createPool(url);
  const build = postgresBuilder();
  const explain = (error: unknown) => explained(error, location);

  const transaction = async <T>(begin: string, work: (session: Session) => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await withClient(pool, begin, (client) => work(sessionOf(client, build)));
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
        return await work(sessionOf(pool, build));
      } catch (error) {
        throw explain(error);
      }
    },
    readSettled: (work) => transaction(BEGIN_READ, work),
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

async function withClient<T>(pool: Pool, begin: string, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query("commit");
    return result;
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

function sessionOf(client: PoolClient | Pool, build: Kysely<Tables>): Session {
  const send = ({ sql, parameters }: CompiledQuery) => client.query(sql, parameters as unknown[]);
  return {
    dialect: "postgres",
    alone: false,
    build,
    async all(statement, values) {
      const { sql, bind } = statement.form("postgres", build);
      return (await client.query({ name: statement.name, text: sql, values: bind(values) })).rows;
    },
    async run(statement, values) {
      const { sql, bind } = statement.form("postgres", build);
      return (await client.query({ name: statement.name, text: sql, values: bind(values) })).rowCount ?? 0;
    },
    query: async (query) => (await send(query)).rows,
    change: async (query) => (await send(query)).rowCount ?? 0,
  };
}

async function createPool(url: string): Promise<Pool> {
  const { default: pg } = await import("pg").catch((error: unknown) => {
    throw new HoldfastError("unsupported", "a board in PostgreSQL needs the package pg, which is not installed", {
      hint: "install it beside Holdfast: npm install pg",
      cause: error,
    });
  });
  const config: PoolConfig = {
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    idle_in_transaction_session_timeout: TRANSACTION_IDLE_LIMIT_MS,
    lock_timeout: LOCK_LIMIT_MS,
    application_name: "holdfast",
    allowExitOnIdle: true,
    // Ids and times are far below what a number holds exactly.
    types: {
      getTypeParser: (oid: number, format?: "text") => (oid === BIGINT ? Number : pg.types.getTypeParser(oid, format)),
    } as PoolConfig["types"] & object,
  };
  const pool = new pg.Pool(config);
  // A connection that breaks while nobody uses it is replaced by the pool; without a listener it would end the process.
  pool.on("error", () => undefined);
  return pool;
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

function explained(error: unknown, location: string): unknown {
  if (HoldfastError.isInstance(error)) return error;
  const code = codeOf(error);
  // What the driver throws is an Error or has a code; the rest are mistakes of ours, which must look like it.
  if (code === "" && (error as object)?.constructor !== Error) return error;
  const options = { facts: { location, postgres: code }, cause: error };
  if (TIES.has(code) || code === LOCK_TIMEOUT)
    return new HoldfastError("locked", `others kept the board in ${location} for too long`, options);
  return new HoldfastError("board-unavailable", `the board in ${location} cannot be used: ${describeError(error)}`, options);
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}

function withoutPassword(url: string): string {
  return url.replace(/(?<=:\/\/[^/:@]*):[^@/]*(?=@)/, "");
}
