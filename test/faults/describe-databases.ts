/** @module Tests that hold on both databases. */
import { afterAll, beforeAll, describe } from "vitest";
import { POSTGRES_LIMIT_MS, type TestPostgres, testPostgres } from "../helpers/postgres.ts";
import { describeIf } from "../helpers/requirements.ts";

/** `database` gives a new one; undefined is a file of SQLite where the bench wants it. */
export function describeDatabases(body: (database: () => Promise<string | undefined>) => void): void {
  describe("SQLite", () => body(async () => undefined));
  describeIf("postgres", "PostgreSQL", () => {
    let server: TestPostgres;
    beforeAll(async () => {
      server = await testPostgres();
    }, POSTGRES_LIMIT_MS);
    afterAll(() => server?.[Symbol.asyncDispose]());
    body(() => server.createDatabase());
  });
}
