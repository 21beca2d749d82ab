import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/board/store.ts";
import { openHoldfast } from "../../src/index.ts";
import { createTestCli, type TestCli } from "../helpers/cli.ts";

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

/** What a verb of the board says when a file of the home says this. */
async function written(cli: TestCli, name: string, text: string) {
  await mkdir(cli.home, { recursive: true });
  await writeFile(join(cli.home, name), text);
  const result = await cli.run(["kanban", "list"]);
  await writeFile(join(cli.home, name), "");
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
