import { openStore } from "../../src/board/store.ts";
import { testBoardStore } from "../contract/board-store.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { POSTGRES_LIMIT_MS, testPostgres } from "../helpers/postgres.ts";
import { soakCount } from "../helpers/soak.ts";

testBoardStore({
  name: "PostgreSQL",
  needs: ["postgres"],
  startLimitMs: POSTGRES_LIMIT_MS,
  async createHarness() {
    const server = await testPostgres();
    const clock = createManualClock();
    const url = await server.createDatabase();
    const open = () => openStore(url, { clock });
    const store = await open();
    return {
      store,
      clock,
      open,
      histories: { runs: soakCount("histories of a board, postgres", { check: 2, soak: 4 }), steps: 100 },
      async [Symbol.asyncDispose]() {
        await store[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  },
});
