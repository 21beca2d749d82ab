import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/board/store.ts";
import { openHoldfast } from "../../src/index.ts";
import { createTestCli, type TestCli } from "../helpers/cli.ts";
import { POSTGRES_LIMIT_MS, testPostgres } from "../helpers/postgres.ts";
import { describeIf } from "../helpers/requirements.ts";

/** Stands in every password here. */
const MARK = "correct-horse";

const REFUSED = [
  `mysql://me:${MARK}@db/x`,
  `postgress://me:${MARK}@db/x`,
  `POSTGRESS://me:${MARK}@db/x`,
  `  mysql://me:${MARK}@db/x`,
  `\tMySQL://me:${MARK}@db/x`,
  `mysql://me:pa ss ${MARK}@db/x`,
  `mysql://db/x?password=${MARK}`,
  `jdbc:postgresql://db/x?password=${MARK}`,
  `file:///srv/${"x".repeat(50)}?password=${MARK}`,
  `postgres:/me:${MARK}@db/x`,
  `postgres:me:${MARK}@db/x`,
  `mysql:/me:${MARK}@db/x`,
  `host=db user=me password=${MARK}`,
  `password='pa ss ${MARK}' host=db`,
  `postgres://me:pa/${MARK}@db/x`,
  `postgres://me:12/${MARK}@db/x`,
  `postgres://me:pa?${MARK}@db/x`,
  `postgres://me:pa#${MARK}@db/x`,
];

describe.each(REFUSED)("K2 no board is kept in %j", (location) => {
  test("whoever says so, and nothing shows its password", async () => {
    await using cli = await createTestCli();
    const flags = ["-c", `kanban.database=${location}`];
    const said = [
      await cli.run(["config", "set", "kanban.database", location]),
      await cli.run(["kanban", "list", ...flags]),
      await cli.run(["kanban", "list", "--json", "--debug", ...flags]),
      await cli.run(["kanban", "init"], { env: { HOLDFAST_KANBAN_DATABASE: location } }),
      await written(cli, "config.yaml", `kanban:\n  database: ${JSON.stringify(location)}\n`),
      await written(cli, ".env", `HOLDFAST_KANBAN_DATABASE=${JSON.stringify(location)}\n`),
    ];
    for (const { status, stdout, stderr } of said) {
      expect(stdout + stderr).toContain("kanban.database must be a path or the postgres:// URL of a database, not");
      expect(stdout + stderr).not.toContain(MARK);
      expect(status).not.toBe(0);
    }
    const library = await failure(async () => {
      const config = { "kanban.database": location };
      await using holdfast = await openHoldfast({ environment: cli.env, config });
      await holdfast.board().list();
    });
    const store = await failure(() => openStore(location));
    expect(JSON.stringify([library, library.message, library.stack, store, store.message, store.stack])).not.toContain(MARK);
    expect([library, store]).toMatchObject([{ code: "config-bad-value" }, { code: "invalid-input" }]);
    const names = await readdir(join(cli.home, ".."), { recursive: true });
    expect(names.filter((name) => name.includes(MARK) || name.endsWith(".db"))).toEqual([]);
  });
});

test.each(["PostgreSQL", " POSTGRES", "\tpostgres"])("K2 a board in %j is meant to be in PostgreSQL", async (scheme) => {
  await using cli = await createTestCli();
  const env = { HOLDFAST_KANBAN_DATABASE: `${scheme}://me:pa ss@/x?host=${encodeURIComponent(cli.directory)}\n` };
  const { status, stderr } = await cli.run(["kanban", "list"], { env });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^error: the board in postgres(ql)?:\/\/me:\*\*\*@\/x\?host=/),
  });
  expect(await readdir(join(cli.home, ".."), { recursive: true })).not.toContainEqual(expect.stringMatching(/\.db$/));
});

test("a path may have a colon, an equals sign or a blank in it", async () => {
  await using cli = await createTestCli();
  for (const name of ["a:b.db", "a=b.db", "a b.db"]) {
    const { database } = await cli.json<{ database: string }>(["kanban", "init", "-c", `kanban.database=${join(cli.directory, name)}`]);
    expect(database).toBe(join(cli.directory, name));
  }
});

/** Each makes the URL of a database that is found by its parameters a URL with a password. */
const FORMS: readonly ((url: string) => string)[] = [
  (url) => url.replace("@", `:${MARK}@`),
  (url) => url.replace("@", `:a%2F${MARK}%40%3A%25@`),
  (url) => url.replace("@", `:a@${MARK}:b%${MARK}@`),
  (url) => `  ${url.replace("@", `:a ${MARK}@`).replace("postgres", "PostgreSQL")}`,
  (url) => `${url}&password=${MARK}`,
  (url) => `${url}&pass%77ord=a/${MARK}@b:c&connect_timeout=10`,
  (url) => `${url.replace("@", `:a${MARK}@`)}&sslpassword=${MARK}&passfile=/nowhere/.pgpass`,
];

const VERBS = [
  ["kanban", "list"],
  ["kanban", "init"],
  ["kanban", "boards", "show"],
  ["kanban", "diagnostics"],
  ["kanban", "dispatch"],
  ["kanban", "repair"],
  ["config", "get", "kanban.database"],
  ["config", "list"],
  ["config", "explain", "kanban.database"],
  ["profile", "list"],
  ["profile", "show", "default"],
  ["doctor"],
];

describe.each(FORMS.map((form) => ({ form, shape: form("postgres://me@db/x?y=1") })))("K2 K5 the password of $shape", ({ form }) => {
  test("is in nothing that is printed, written or exported while its server is away", async () => {
    await using cli = await createTestCli();
    const url = form(`postgres://me@/x?host=${encodeURIComponent(cli.directory)}`);
    await written(cli, "config.yaml", `terminal: {timeout: 7}\nkanban: {database: ${JSON.stringify(url)}}\n`, "stays");
    const archive = join(cli.directory, "default.tar.gz");
    const said = [await cli.run(["profile", "export", "default", "-o", archive])];
    expect(said[0]?.status).toBe(0);
    for (const verb of VERBS) {
      said.push(await cli.run(verb), await cli.run([...verb, "--json", "--debug"]));
      said.push(await cli.run([...verb, "--debug"], { env: { HOLDFAST_KANBAN_DATABASE: url } }));
    }
    expect(JSON.stringify(said)).toContain("postgres");
    expect(JSON.stringify(said)).not.toContain(MARK);
    expect(gunzipSync(await readFile(archive)).toString()).toMatch(/timeout: 7/);
    const holding = (await filesHolding(join(cli.home, ".."))).filter((path) => !path.endsWith("config.yaml"));
    expect(holding).toEqual([]);
    const told: unknown[] = [];
    await using holdfast = await openHoldfast({ environment: cli.env, debug: true, onLog: (record) => void told.push(record) });
    told.push(await holdfast.config.list(), await holdfast.config.explain("kanban.database"));
    const error = await failure(() => holdfast.board().list());
    const causes = [error, error.cause].map((each) => [each, String((each as Error).stack), Object.entries(each as Error)]);
    expect(JSON.stringify([told, causes])).not.toContain(MARK);
  });
});

describeIf("postgres", "K2 K5 the password of a database in use", () => {
  test("is in no row, log or export, nor in what a worker gets to see", { timeout: POSTGRES_LIMIT_MS }, async () => {
    await using server = await testPostgres();
    const plain = await server.createDatabase();
    for (const form of FORMS) {
      await using cli = await createTestCli();
      const url = form(plain);
      const asBoard = { env: { HOLDFAST_KANBAN_DATABASE: url } };
      const {
        task: { id },
      } = await cli.json<{ task: { id: string } }>(["kanban", "create", "fails", "--assignee", "default"], asBoard);
      await using store = await openStore(url);
      expect(store.location).not.toContain(MARK);
      const { run } = await store.claim(id, { by: "test" });
      const error = `cannot reach ${url}`;
      await store.recordExit(run.id, { code: null, signal: null, reason: "start_failed", error });
      await store.release(run.id, { by: "test", outcome: "spawn_failed", error, failureLimit: 1 });
      const archive = join(cli.directory, "board.tar.gz");
      const said = [
        await cli.run(["kanban", "show", id], asBoard),
        await cli.run(["kanban", "show", id, "--json"], asBoard),
        await cli.run(["kanban", "context", id], asBoard),
        await cli.run(["kanban", "boards", "export", "-o", archive], asBoard),
      ];
      expect(said.map(({ status, stderr }) => [status, stderr.includes("error:")])).toEqual(said.map(() => [0, false]));
      expect(said[0]?.stdout).toMatch(/cannot reach +postgres/i);
      expect(JSON.stringify(said)).not.toContain(MARK);
      const exported = gunzipSync(await readFile(archive)).toString();
      expect(exported).toMatch(/cannot reach +postgres/i);
      expect(exported).not.toContain(MARK);
      expect(await filesHolding(join(cli.home, ".."))).toEqual([]);
    }
    expect(await rowsOf(plain)).toContain("cannot reach postgres");
    expect(await rowsOf(plain)).not.toContain(MARK);
  });
});

async function filesHolding(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const found = await Promise.all(paths.map(async (path) => (path.includes(MARK) || (await readFile(path)).includes(MARK) ? path : null)));
  return found.filter((path) => path !== null);
}

/** All that the database holds, as text. */
async function rowsOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query("select tablename from pg_tables where schemaname = 'public'");
    const rows: unknown[] = [];
    for (const { tablename } of tables.rows) rows.push((await client.query(`select * from "${tablename}"`)).rows);
    return JSON.stringify(rows);
  } finally {
    await client.end();
  }
}

/** What a verb of the board says when a file of the home says this. */
async function written(cli: TestCli, name: string, text: string, afterwards: "goes" | "stays" = "goes") {
  await mkdir(cli.home, { recursive: true });
  await writeFile(join(cli.home, name), text);
  const result = await cli.run(["kanban", "list"]);
  if (afterwards === "goes") await writeFile(join(cli.home, name), "");
  return result;
}

async function failure(action: () => Promise<unknown>): Promise<Error> {
  try {
    await action();
  } catch (error) {
    return error as Error;
  }
  throw new Error("it did not fail");
}
