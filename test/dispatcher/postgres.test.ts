import { POSTGRES_LIMIT_MS, testPostgres } from "../helpers/postgres.ts";
import { testDispatcher } from "./suite.ts";

testDispatcher({
  name: "PostgreSQL",
  needs: ["postgres"],
  startLimitMs: POSTGRES_LIMIT_MS,
  async open() {
    const server = await testPostgres();
    return { next: server.createDatabase, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  },
});
