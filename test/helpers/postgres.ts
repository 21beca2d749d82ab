/** @module A real PostgreSQL of a test's own, on a unix socket only, which ends with the test, however that ends. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { systemClock } from "../../src/base/clock.ts";
import { enginePlace } from "./engine-place.ts";
import { postgresBin } from "./postgres-bin.ts";

/** For the hook that asks for one. */
export const POSTGRES_LIMIT_MS = 120_000;

const START_LIMIT_MS = 60_000;
const USER = "holdfast";
// It refuses to run as root.
const NOBODY = 65_534;

export interface TestPostgres extends AsyncDisposable {
  /** The URL of a new and empty database. */
  createDatabase(): Promise<string>;
  /** A statement, as the owner of all databases. */
  run(sql: string): Promise<void>;
  /** Ends every connection, and comes back with what it held. */
  restart(): Promise<void>;
  /** The first half of `restart`. */
  stop(): Promise<void>;
  /** The second half. */
  start(): Promise<void>;
}

export async function testPostgres(): Promise<TestPostgres> {
  const bin = postgresBin();
  if (bin === undefined) throw new Error("postgres is not installed");
  const place = await enginePlace();
  const directory = join(place.path, "postgres");
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  let server: Server;
  try {
    await mkdir(directory);
    if (user.uid !== undefined) {
      await chmod(place.path, 0o711);
      await chown(directory, user.uid, user.gid);
    }
    const data = join(directory, "data");
    const initdb = [
      "--pgdata",
      data,
      "--username",
      USER,
      "--auth=trust",
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
      "--no-instructions",
    ];
    await promisify(execFile)(join(bin, "initdb"), initdb, { ...user, cwd: directory });
    server = { program: join(bin, "postgres"), directory, data, user };
    await start(server);
  } catch (error) {
    await place[Symbol.asyncDispose]();
    throw error;
  }
  let count = 0;
  const stop = async () => {
    await promisify(execFile)(join(bin, "pg_ctl"), ["stop", "--pgdata", server.data, "--mode=fast"], { ...user, cwd: directory });
  };
  return {
    async createDatabase() {
      count += 1;
      const name = `board${count}`;
      await query(urlOf(directory, "postgres"), `create database ${name}`);
      return urlOf(directory, name);
    },
    run: (sql) => query(urlOf(directory, "postgres"), sql),
    async restart() {
      await stop();
      await start(server);
    },
    stop,
    start: () => start(server),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

interface Server {
  readonly program: string;
  readonly directory: string;
  readonly data: string;
  readonly user: { readonly uid?: number; readonly gid?: number };
}

/** What it holds is thrown away, so it need not reach the disk. */
async function start({ program, directory, data, user }: Server): Promise<void> {
  const settings = [
    "listen_addresses=",
    `unix_socket_directories=${directory}`,
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=32MB",
    // Among its data. In /dev/shm it stays there for ever when the server is killed.
    "dynamic_shared_memory_type=mmap",
  ];
  const log = await open(join(directory, "log"), "a");
  const args = ["-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  const child = spawn(program, args, { ...user, cwd: directory, stdio: ["ignore", log.fd, log.fd], detached: true });
  child.unref();
  try {
    await once(child, "spawn");
    const limit = systemClock.monotonic() + START_LIMIT_MS;
    while (child.exitCode === null && child.signalCode === null && systemClock.monotonic() < limit) {
      if (await answers(directory)) return;
      await pause(50);
    }
  } finally {
    await log.close();
  }
  throw new Error(`postgres does not answer: ${(await readFile(join(directory, "log"), "utf8")).slice(-2000)}`);
}

async function answers(directory: string): Promise<boolean> {
  try {
    await query(urlOf(directory, "postgres"), "select 1");
    return true;
  } catch {
    // It is still starting.
    return false;
  }
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function urlOf(directory: string, database: string): string {
  return `postgres://${USER}@/${database}?host=${encodeURIComponent(directory)}`;
}
